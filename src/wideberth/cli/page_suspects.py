"""The part of the report about rows that look mislabelled."""

from __future__ import annotations

from html import escape

from wideberth.cli.output import number, whole
from wideberth.cli.page_parts import SHOWN, section, table
from wideberth.cli.suspects import count_suspects


def suspects_section(result: dict) -> str:
    """The section of a model whose labels may be wrong; empty of any other."""
    suspects = result["suspects"]
    if suspects is None:
        return ""
    told = f"<p><strong>{_sentence(count_suspects(suspects))}</strong></p>"
    inside = f"{told}\n{_listed(result)}" if suspects["found"] else told
    return section("Labels to check", inside)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _listed(result: dict) -> str:
    """The most doubtful rows, and what is said of them."""
    suspects, noise = result["suspects"], result["uncertainty"]
    noisy, name = noise["largest"] > 0, suspects["id"]
    total, used = suspects["found"], result["data"]["rows_used"]
    about = (
        f"Of {whole(used)} rows these were left out, and the model says otherwise than "
        "their label does. The label may be wrong, or the row a rare case: look before "
        "you change it. The distance is how far its values would have to be off, "
        f"{noise['unit']}, for the label given to be the answer."
    )
    if noisy:
        about += (
            " Beside it, the same in units of the row’s own radius: beyond 1, noise "
            "of the size given does not explain the label."
        )
    about += " Rows are counted as in the file, from 1 below its header"
    about += f"; the id is in the column {escape(name)}." if name else "."
    columns = {
        "row": "iterations",
        **({"id": "text"} if name else {}),
        "label given": "text",
        "prediction": "text",
        "distance": "limit",
        **({"in radii": "limit"} if noisy else {}),
    }
    lines = [
        [
            one["row"],
            *([one["id"] or "–"] if name else []),
            *(one["given"], one["predicted"], _far(one["distance"])),
            *([_far(one["noises"])] if noisy else []),
        ]
        for one in suspects["rows"][:SHOWN]
    ]
    heading = "The most doubtful labels"
    if total > SHOWN:
        heading += f" ({SHOWN} of {whole(total)}; --suspects FILE writes all)"
    return f"<p>{about}</p>\n<h3>{heading}</h3>\n{table(heading, columns, lines)}"


def _far(distance: float | None) -> tuple[str, float]:
    """A distance and what it is sorted by; none is beyond all bounds."""
    if distance is None:
        return "beyond any", float("inf")
    return number(distance), distance
