"""The printers: terminal, notebook and page; the report is one self-contained HTML file."""
