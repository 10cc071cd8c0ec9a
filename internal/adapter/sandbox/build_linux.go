//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The folder in which the sandbox is built while the machine's files are still visible. The new
// folder hides the old one only for this process.
const (
	root    = "/tmp"
	scratch = root + "/scratch" // its two parts become /work and /tmp
)

// shown are folders of the machine that a command may read: programs and their dependencies.
// Missing folders are skipped.
var shown = []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc/alternatives", "etc/ld.so.cache"}

// devices are harmless devices of the machine.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// build creates the new file system in memory.
func build(o order) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		"mode=0755,size=1m,nr_inodes=256"); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	for _, folder := range []string{"work", "tmp", "dev", "etc", "scratch"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	for _, name := range shown {
		if err := show(name); err != nil {
			return fmt.Errorf("show /%s: %w", name, err)
		}
	}
	for _, name := range devices {
		if err := bind("/dev/"+name, root+"/dev/"+name, false,
			unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return fmt.Errorf("bind /dev/%s: %w", name, err)
		}
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", o.Limits.Disk, maxInodes)); err != nil {
		return fmt.Errorf("mount the writable folder: %w", err)
	}
	for _, folder := range []string{"work", "tmp"} {
		if err := os.Mkdir(filepath.Join(scratch, folder), 0o700); err != nil {
			return err
		}
		if err := os.Chown(filepath.Join(scratch, folder), o.User, o.User); err != nil {
			return err
		}
		if err := unix.Mount(filepath.Join(scratch, folder), filepath.Join(root, folder), "", unix.MS_BIND,
			""); err != nil {
			return fmt.Errorf("mount /%s: %w", folder, err)
		}
	}
	if err := unix.Unmount(scratch, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("hide the scratch folder: %w", err)
	}
	return os.Remove(scratch)
}

// maxInodes bounds the number of files and folders of a command. They use memory even if they are
// empty.
const maxInodes = 4096

// show makes a part of the machine readable. A link stays a link.
func show(name string) error {
	from, to := "/"+name, filepath.Join(root, name)
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return bind(from, to, info.IsDir(), unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func bind(from, to string, folder bool, attributes uint64) error {
	var err error
	if folder {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
}

// writeFiles writes the job's files. No other process uses the folder yet, so no path can lead out of
// it.
func writeFiles(o order) error {
	work := filepath.Join(root, "work")
	for _, f := range o.Files {
		if err := os.MkdirAll(filepath.Join(work, filepath.Dir(f.Path)), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := writeNew(filepath.Join(work, f.Path), f.Content, mode); err != nil {
			return err
		}
	}
	return filepath.WalkDir(work, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, o.User, o.User)
	})
}

// writeNew writes a file that must not exist.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// changeRoot makes the new file system the only visible one.
func changeRoot(order) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, root, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("protect the root: %w", err)
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root now covers the new one
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("name the sandbox: %w", err)
	}
	return os.Chdir("/work")
}
