package sessionwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cairn/internal/domain/fault"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Cursor is what was sent of a session.
type Cursor struct {
	Session  string    `json:"session,omitempty"` // the agent's ID
	Records  int       `json:"records"`           // sent records
	Bytes    int       `json:"bytes"`             // of these records
	SHA256   string    `json:"sha256"`            // of these records: it identifies the last one
	Revision int       `json:"revision"`          // 1, and one more each time when sent records were rewritten
	Import   int64     `json:"import,omitempty"`  // ID at the gateway
	Size     int64     `json:"size"`              // of the file, when it was read
	Modified time.Time `json:"modified"`          // of the file, when it was read
	Refused  string    `json:"refused,omitempty"` // why the file was not sent; it is tried again when it changes
}

// state is the content of the state file.
type state struct {
	Server   string            `json:"server"`
	Approved []string          `json:"approved"` // folders whose sessions a person agreed to send
	Files    map[string]Cursor `json:"files"`    // by path

	path string
}

// openState reads a state file. A missing one is empty.
func openState(path, server string) (*state, error) {
	s := &state{Server: server, Files: map[string]Cursor{}, path: path}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "read the state file "+path, "")
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "damaged state file "+path,
			"delete it: the sessions are then sent again, and the gateway stores nothing twice")
	}
	if s.Server != server {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the state file %s is of %s, not of %s", path, s.Server, server),
			"choose another file with --state FILE")
	}
	if s.Files == nil {
		s.Files = map[string]Cursor{}
	}
	return s, nil
}

// save replaces the state file at once: after a crash, it is the old or the new one.
func (s *state) save() (err error) {
	defer func() {
		if err != nil {
			err = fault.Wrap(err, fault.Unavailable, "write the state file "+s.path, "")
		}
	}()
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".import-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the file was renamed
	if _, err = f.Write(append(raw, '\n')); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
