// Command cmd writes the generated pages of docs/reference. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"cairn/internal/app/reference"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	pages, err := reference.Pages(root)
	if err != nil {
		return err
	}
	for path, text := range pages {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
