"""The notebook is stored without output, and every cell of it runs."""

import json
import os
import unittest

from test_simulate import MISSING

NOTEBOOK = os.path.join(os.path.dirname(__file__), "..", "examples", "first_number.ipynb")


class Notebook(unittest.TestCase):
    def setUp(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            self.notebook = json.load(file)

    def test_is_stored_without_output(self):
        for cell in self.notebook["cells"]:
            self.assertFalse(cell.get("outputs"))
            self.assertIsNone(cell.get("execution_count"))

    @unittest.skipIf(MISSING, MISSING)
    def test_runs(self):
        try:
            import ipykernel  # noqa: F401
            import nbformat
            from nbclient import NotebookClient
        except ImportError:
            self.skipTest("needs nbclient and ipykernel (Debian: python3-nbclient, python3-ipykernel)")
        notebook = nbformat.reads(json.dumps(self.notebook), as_version=4)
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pages = [output.get("data", {}).get("text/html", "") for output in outputs]
        self.assertTrue(any(page.startswith("<table>") for page in pages))
        self.assertTrue(any("from zeros" in output.get("text", "") for output in outputs))
        for cell in notebook.cells:
            self.assertLess(len(json.dumps(cell.get("outputs", []))), 100_000)


if __name__ == "__main__":
    unittest.main()
