package objectstore

import (
	"path"
	"sync"
)

// foldersKept bounds the number of remembered folders. When it is exceeded, all are forgotten,
// which costs some extra syncs.
const foldersKept = 10_000

// lasting is the set of folders whose names survive a power failure, because this process has
// synced their parent folders. A folder that another process created is not included: that process
// may have died before it synced it.
type lasting struct {
	mu    sync.Mutex
	known map[string]bool
}

// makeFolders creates folder and its parents. It forgets those of them that another process has
// removed.
func (s *LocalStore) makeFolders(folder string) error {
	for above := folder; above != "."; above = path.Dir(above) {
		if _, err := s.root.Stat(above); err == nil {
			break
		}
		s.lasting.forget(above)
	}
	return s.root.MkdirAll(folder, 0o755)
}

// keepName makes the name of an object in folder survive a power failure. It also syncs the names
// of the parent folders that are not yet lasting.
func (s *LocalStore) keepName(folder string) error {
	if err := s.sync(folder); err != nil {
		return err
	}
	var synced []string
	for ; folder != "." && !s.lasting.has(folder); folder = path.Dir(folder) {
		if err := s.sync(path.Dir(folder)); err != nil {
			return err
		}
		synced = append(synced, folder)
	}
	s.lasting.add(synced)
	return nil
}

func (l *lasting) has(folder string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[folder]
}

func (l *lasting) add(folders []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) > foldersKept {
		l.known = map[string]bool{}
	}
	for _, folder := range folders {
		l.known[folder] = true
	}
}

func (l *lasting) forget(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, folder)
}
