package objectstore

import (
	"path"

	lru "github.com/hashicorp/golang-lru/v2"
)

// foldersKept bounds the number of remembered folders. One that is forgotten costs an extra sync.
const foldersKept = 10_000

// lasting is the set of folders whose names survive a power failure, because this process has
// synced their parent folders. A folder that another process created is not included: that process
// may have died before it synced it.
type lasting = *lru.Cache[string, struct{}]

func newLasting() lasting {
	known, _ := lru.New[string, struct{}](foldersKept) // fails only for a size of 0
	return known
}

// makeFolders creates folder and its parents. It forgets those of them that another process has
// removed.
func (s *LocalStore) makeFolders(folder string) error {
	for above := folder; above != "."; above = path.Dir(above) {
		if _, err := s.root.Stat(above); err == nil {
			break
		}
		s.lasting.Remove(above)
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
	for ; folder != "." && !s.lasting.Contains(folder); folder = path.Dir(folder) {
		if err := s.sync(path.Dir(folder)); err != nil {
			return err
		}
		synced = append(synced, folder)
	}
	for _, folder := range synced {
		s.lasting.Add(folder, struct{}{})
	}
	return nil
}
