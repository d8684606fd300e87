"""Problems that differ in their labels alone, solved together."""
