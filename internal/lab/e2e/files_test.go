package e2e_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	testkit.Must(t, err)
	return raw
}

// tree lists the files below root, without the tombstones of erasures, which stay.
func tree(t *testing.T, root string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	testkit.Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) != "erased" {
			out[path] = true
		}
		return err
	}))
	return out
}

func mustWorkspace(t *testing.T, b *apptest.Bundle, name string) access.Workspace {
	t.Helper()
	w, err := b.Store.Workspace(t.Context(), name, true)
	testkit.Must(t, err)
	return w
}

// systemMessage returns the system message of a chat request.
func systemMessage(body []byte) string {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if json.Unmarshal(body, &request) != nil || len(request.Messages) == 0 {
		return ""
	}
	return request.Messages[0].Content
}

func libraryUse(id int64, use, outcome string) skill.Use {
	return skill.Use{Skill: id, ID: use, Version: 1, Outcome: outcome}
}
