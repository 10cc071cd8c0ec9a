package sessionwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
)

// Uploader sends files.
type Uploader interface {
	// Upload returns after the file is stored, with the ID of its import. A repeated file is stored once.
	Upload(ctx context.Context, name string, content []byte) (int64, error)
}

// Options configure a Watcher.
type Options struct {
	Folders []string      // absolute paths
	Idle    time.Duration // without changes, after which a file is due
	State   string        // path of the state file
	Server  string        // that receives the files
	Upload  Uploader
	Report  func(Event) // may be nil
}

// Event is what happened to one file.
type Event struct {
	Path     string `json:"path"`
	Import   int64  `json:"import,omitempty"`
	Records  int    `json:"records,omitempty"`  // that were sent in all
	New      int    `json:"new,omitempty"`      // records since the last time
	Revision int    `json:"revision,omitempty"` // 2 or more after a rewrite
	Masked   int    `json:"masked,omitempty"`   // positions with secrets
	Err      error  `json:"-"`                  // why the file was not sent
}

// Watcher sends session files. It is not safe for concurrent use.
type Watcher struct {
	Options
	state *state
}

// Open reads the state file.
func Open(o Options) (*Watcher, error) {
	s, err := openState(o.State, o.Server)
	if err != nil {
		return nil, err
	}
	return &Watcher{o, s}, nil
}

// Approved reports whether a person has agreed to send the sessions of a folder or file.
func (w *Watcher) Approved(path string) bool {
	return slices.ContainsFunc(w.state.Approved, func(folder string) bool {
		return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
	})
}

// Approve stores that a person agrees to send the sessions of folders.
func (w *Watcher) Approve(folders ...string) error {
	for _, folder := range folders {
		if !w.Approved(folder) {
			w.state.Approved = append(w.state.Approved, folder)
		}
	}
	return w.state.save()
}

// Unsent lists the files of all folders that have changed since they were sent.
func (w *Watcher) Unsent() (out []Found, err error) {
	for _, folder := range w.Folders {
		files, _, err := scan(folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if sent := w.state.Files[f.Path]; sent.Size != f.Size || !sent.Modified.Equal(f.Modified) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// Pass sends all files that are due. It returns the time until the next one is, 0 for none, and an error if no file
// can be sent. Errors of single files are reported.
func (w *Watcher) Pass(ctx context.Context) (next time.Duration, err error) {
	unsent, err := w.Unsent()
	if err != nil {
		return 0, err
	}
	now := time.Now()
	for _, f := range unsent {
		if wait := w.Idle - now.Sub(f.Modified); wait > 0 {
			if next == 0 || wait < next {
				next = wait
			}
			continue
		}
		if err := w.Send(ctx, f.Path); err != nil {
			return next, err
		}
	}
	return next, nil
}

// final are errors that all files would meet.
var final = []fault.Code{fault.Unauthenticated, fault.OutOfScope, fault.Unavailable, fault.RateLimited,
	fault.QuotaExceeded, fault.Erasing, fault.RequestTimeout}

// Send sends a file now, unless it was sent as it is. The error of this file alone is reported, and not returned.
func (w *Watcher) Send(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return w.fail(Event{Path: path}, Cursor{}, err)
	}
	sent := w.state.Files[path]
	next := Cursor{Session: sent.Session, Records: sent.Records, Bytes: sent.Bytes, SHA256: sent.SHA256,
		Revision: sent.Revision, Import: sent.Import, Size: info.Size(), Modified: info.ModTime()}
	file, err := read(path)
	if err != nil {
		return w.fail(Event{Path: path}, next, err)
	}
	if file.sum == sent.SHA256 {
		w.state.Files[path] = next
		return w.state.save()
	}
	masked, counts := mask(file.raw)
	event := Event{Path: path, Records: file.records, Revision: file.revision(sent), Masked: counts.Total()}
	if event.New = file.records; event.Revision == sent.Revision {
		event.New -= sent.Records
	}
	name := filepath.Base(path)
	result, err := intake.Read(name, bytes.NewReader(masked), intake.Options{})
	if err != nil {
		return w.fail(event, next, err)
	}
	if event.Import, err = w.Upload.Upload(ctx, name, masked); err != nil {
		return w.fail(event, next, err)
	}
	next.Session, next.Records, next.Bytes = result.Conversations[0].Session, file.records, len(file.raw)
	next.SHA256, next.Revision, next.Import = file.sum, event.Revision, event.Import
	w.state.Files[path] = next
	if err := w.state.save(); err != nil {
		return err
	}
	w.report(event)
	return nil
}

// fail reports why a file was not sent. A refused file is not read again until it changes.
func (w *Watcher) fail(e Event, next Cursor, err error) error {
	var known *fault.Error
	switch {
	case errors.Is(err, errUnfinished), errors.Is(err, fs.ErrNotExist):
		return nil // the agent still writes it, or has removed it
	case !errors.As(err, &known):
		known = fault.Wrap(err, fault.Unavailable, fmt.Sprintf("read %s", e.Path), "")
	case slices.Contains(final, known.Code):
		return err
	default:
		next.Refused = known.Message
		w.state.Files[e.Path] = next
		if err := w.state.save(); err != nil {
			return err
		}
	}
	e.Err = known
	w.report(e)
	return nil
}

func (w *Watcher) report(e Event) {
	if w.Report != nil {
		w.Report(e)
	}
}
