"""From measured cells to what people read: tables, figures, one HTML page."""
