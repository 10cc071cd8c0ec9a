package objectstore

import (
	"path"
	"sync"
)

// foldersKept bounds how many folders are remembered as lasting; past it they
// are forgotten, which costs a few more syncs.
const foldersKept = 10_000

// lasting is the folders whose names are known to survive a power cut, since
// this process has synced the folders above them. A folder that another process
// made is not among them: nobody knows whether that one lived to sync it.
type lasting struct {
	mu    sync.Mutex
	known map[string]bool
}

// makeFolders makes folder and those above it, and forgets that any of them was
// lasting that somebody has removed.
func (s *LocalStore) makeFolders(folder string) error {
	for above := folder; above != "."; above = path.Dir(above) {
		if _, err := s.root.Stat(above); err == nil {
			break
		}
		s.lasting.forget(above)
	}
	return s.root.MkdirAll(folder, 0o755)
}

// keepName makes the name of an object in folder survive a power cut, and the
// names of the folders on the way to it that are not lasting yet.
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
