import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "cut_azure_trace.py"))
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


def test_the_busiest_minutes_are_cut_out_unchanged(tmp_path: Path) -> None:
    minutes = [0, 1, 1, 2, 3, 3, 3, 4, 4, 5]  # minutes 3 and 4 have the most, five
    rows = [f"2023-11-16 18:{minute:02}:{i:02}.6805900,{i},1" for i, minute in enumerate(minutes)]
    source, target = tmp_path / "whole.csv", tmp_path / "cut.csv"
    source.write_text("\r\n".join([HEADER, *rows, ""]))
    assert TOOL["cut"](source, target, 2) == (3, 5)
    assert target.read_text().splitlines() == [HEADER, *rows[4:9]]


def test_the_example_is_its_own_busiest_quarter_of_an_hour(tmp_path: Path) -> None:
    example = ROOT / "examples" / "traces" / "azure-conv-2023-peak15min.csv"
    assert TOOL["cut"](example, tmp_path / "again.csv", 15) == (0, 6541)
    assert (tmp_path / "again.csv").read_bytes() == example.read_bytes()
