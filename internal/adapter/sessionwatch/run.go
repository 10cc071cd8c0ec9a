package sessionwatch

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"

	"cairn/internal/domain/fault"
)

// scanEvery is the interval of scans, which find changes that the system did not report.
const scanEvery = time.Minute

// Run sends files when they are due, until ctx is done. While the gateway is unavailable, it tries again each minute.
// It returns other errors that all files would meet, such as a revoked key.
func (w *Watcher) Run(ctx context.Context) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "watch the folders", "")
	}
	defer notify.Close()
	look := time.NewTimer(0)
	defer look.Stop()
	var at time.Time // of the next pass
	watched := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-notify.Events:
			if due := time.Now().Add(w.Idle); open && due.Before(at) {
				at = due
				look.Reset(w.Idle)
			}
		case err := <-notify.Errors: // such as a full queue: the scan finds the changes
			w.report(Event{Err: err})
		case <-look.C:
			wait, err := w.pass(ctx, notify, watched)
			if err != nil {
				return err
			}
			at = time.Now().Add(wait)
			look.Reset(wait)
		}
	}
}

// pass sends what is due, and returns the time until the next pass.
func (w *Watcher) pass(ctx context.Context, notify *fsnotify.Watcher, watched map[string]bool) (time.Duration, error) {
	w.watch(notify, watched)
	next, err := w.Pass(ctx)
	switch fault.CodeOf(err) {
	case "":
	case fault.Unavailable, fault.RateLimited, fault.RequestTimeout:
		if ctx.Err() == nil {
			w.report(Event{Err: err})
		}
		next = scanEvery
	default:
		return 0, err
	}
	if next <= 0 || next > scanEvery {
		next = scanEvery
	}
	return next, nil
}

// watch watches the folders that are not watched yet. The scan covers those that cannot be watched.
func (w *Watcher) watch(notify *fsnotify.Watcher, watched map[string]bool) {
	for _, folder := range w.Folders {
		_, folders, err := scan(folder)
		if err != nil {
			continue // Pass returns it
		}
		for _, f := range folders {
			if watched[f] {
				continue
			}
			watched[f] = true
			if err := notify.Add(f); err != nil {
				w.report(Event{Path: f, Err: err})
			}
		}
	}
}
