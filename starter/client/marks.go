package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// memoryMarks stores marks in memory.
type memoryMarks struct {
	mu    sync.Mutex
	marks map[string]Mark
}

func (k *memoryMarks) Update(_ context.Context, session string, change func(*Mark) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.marks[session]
	if err := change(&m); err != nil {
		return err
	}
	if k.marks == nil {
		k.marks = map[string]Mark{}
	}
	k.marks[session] = m
	return nil
}

// FileMarks stores marks as files in a folder, one for each session. It creates the folder if
// it does not exist. It is safe for concurrent use within a process; only one process may use
// the folder at a time.
func FileMarks(folder string) Marks { return &fileMarks{folder: folder} }

type fileMarks struct {
	mu     sync.Mutex
	folder string
}

func (k *fileMarks) Update(_ context.Context, session string, change func(*Mark) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	path := filepath.Join(k.folder, hashText(session)+".json") // a session name may be invalid as a file name
	var m Mark
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mark of session %q: %w", session, err)
	}
	if err := change(&m); err != nil {
		return err
	}
	if raw, err = json.Marshal(m); err != nil {
		return fmt.Errorf("encode the mark of session %q: %w", session, err)
	}
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return fmt.Errorf("store the mark of session %q: %w", session, err)
	}
	// Write and rename: after a partial write, the hook would record the session again.
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return fmt.Errorf("store the mark of session %q: %w", session, err)
	}
	return os.Rename(path+".new", path)
}
