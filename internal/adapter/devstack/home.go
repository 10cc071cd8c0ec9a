package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cairn/internal/domain/fault"
)

// shelter is the folder for clusters of root's stacks whose own folder is closed to the account
// that runs PostgreSQL.
var shelter = "/var/lib/cairn"

// home describes the location of one PostgreSQL cluster.
type home struct {
	account account // runs PostgreSQL and owns the folders
	folder  string  // private; holds data and log
	data    string  // the cluster
	log     string  // output of the server
	socket  string  // folder of the Unix socket; short, because sun_path has 104 bytes on macOS
	major   int     // version of the existing cluster, 0 if none exists
	moved   bool    // the cluster is in the shelter
	discard bool    // everything is removed at the end
	buffers string  // shared_buffers of its server
}

// homeFor returns the home of the cluster that belongs to dir, an absolute path. "" returns a
// throw-away home, which has no folder before createFolder.
func homeFor(dir string) (home, error) {
	if dir == "" {
		who, err := postgresAccount(-1)
		return home{account: who, discard: true}, err
	}
	return lastingHome(dir)
}

// createFolder creates the folder of a throw-away home.
func (h *home) createFolder() error {
	if !h.discard {
		return nil
	}
	folder, err := os.MkdirTemp(throwAwayFolder(), "cairn-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	h.folder, h.socket = folder, folder
	h.data, h.log = filepath.Join(folder, "data"), filepath.Join(folder, "postgres.log")
	return h.account.claimFolder(folder)
}

// removeFolder removes the folder of a throw-away home.
func (h *home) removeFolder() error {
	if !h.discard || h.folder == "" {
		return nil
	}
	if err := os.RemoveAll(h.folder); err != nil {
		return fmt.Errorf("remove the throw-away PostgreSQL: %w", err)
	}
	return nil
}

// lastingHome finds or creates the home of the cluster that belongs to dir, an absolute path.
func lastingHome(dir string) (home, error) {
	inside := filepath.Join(dir, "postgres")
	sheltered := filepath.Join(shelter, digest(dir))
	h := home{folder: inside}
	if os.Geteuid() == 0 && !exists(filepath.Join(inside, "data")) {
		who, err := postgresAccount(-1)
		if err != nil {
			return home{}, err
		}
		// A moved cluster stays moved: its data must not seem to vanish if the folder is opened
		// later.
		if exists(filepath.Join(sheltered, "data")) || !who.can("-x", dir) {
			h.folder, h.moved = sheltered, true
			if err := os.MkdirAll(shelter, 0o755); err != nil {
				return home{}, fmt.Errorf("create %s: %w", shelter, err)
			}
		}
	}
	h.data, h.log = filepath.Join(h.folder, "data"), filepath.Join(h.folder, "postgres.log")
	owner := ownerOf(h.data)
	who, err := postgresAccount(owner)
	if err != nil {
		return home{}, err
	}
	h.account = who
	if owner >= 0 && owner != who.uid {
		return home{}, fault.New(fault.Misconfigured,
			fmt.Sprintf("the data in %s belongs to %s, but this process runs as %s", h.data, nameOr(owner), who.name),
			"run as the account that created it (root lends PostgreSQL another account), or choose another folder")
	}
	if err := os.MkdirAll(filepath.Dir(h.folder), 0o755); err != nil {
		return home{}, fmt.Errorf("create the data folder: %w", err)
	}
	if err := who.claimFolder(h.folder); err != nil {
		return home{}, err
	}
	if !who.can("-w", h.folder) {
		return home{}, fault.New(fault.Misconfigured,
			fmt.Sprintf("the account %s, which runs PostgreSQL, cannot reach its data in %s", who.name, h.folder),
			"let other accounts enter the folders above it (chmod o+x), or choose another folder")
	}
	h.major = clusterMajor(h.data)
	h.socket, err = socketFolder(who, dir)
	return h, err
}

// socketFolder returns the folder of the Unix socket. It is the same for each start of dir, unless
// another account owns that name in /tmp.
func socketFolder(who account, dir string) (string, error) {
	folder := fmt.Sprintf("/tmp/cairn-%d-%s", who.uid, digest(dir))
	if err := who.claimFolder(folder); err == nil && ownerOf(folder) == who.uid {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && info.Mode().Perm() == 0o700 {
			return folder, nil
		}
	}
	folder, err := os.MkdirTemp("/tmp", "cairn-")
	if err != nil {
		return "", fmt.Errorf("create the socket folder: %w", err)
	}
	return folder, who.claimFolder(folder)
}

// clusterMajor returns the PostgreSQL version that created a cluster, or 0 if none exists.
func clusterMajor(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	return parseVersion(strings.TrimSpace(string(text))).major
}

// digest returns a short name for a path.
func digest(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func nameOr(uid int) string {
	if name := accountName(uid); name != "" {
		return name
	}
	return fmt.Sprintf("uid %d", uid)
}
