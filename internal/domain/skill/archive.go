package skill

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/fault"
)

const (
	utf8Flag = 1 << 11
	// level is fixed, so that one toolchain creates identical packages.
	level = flate.BestCompression
)

// epoch is the first date that a zip can contain.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Zip packs a skill: folder/SKILL.md first, then all files in byte order. Equal skills give equal
// bytes with one version of Go. Zip rejects what could harm a consumer: names outside the folder,
// and sizes above the limits.
func Zip(folder string, skillMD []byte, files []File, extra ...File) ([]byte, error) {
	if !filepath.IsLocal(folder) || strings.ContainsAny(folder, `/\`) || folder == "." {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid package folder %q", folder), "")
	}
	if err := checkPackage(skillMD, files); err != nil {
		return nil, err
	}
	if err := checkExtras(files, extra); err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	w.RegisterCompressor(zip.Deflate, deflateTo)
	members := slices.SortedFunc(slices.Values(slices.Concat(files, extra)), func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	members = slices.Insert(members, 0, File{Path: "SKILL.md", Content: string(skillMD)})
	for _, member := range members {
		name := folder + "/" + member.Path
		if !filepath.IsLocal(name) {
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%q leaves its package", name), "")
		}
		header := &zip.FileHeader{Name: name, Method: method(member.Content), Flags: utf8Flag, Modified: epoch}
		header.SetMode(0o644)
		out, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := io.WriteString(out, member.Content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	return archive.Bytes(), nil
}

// deflaters are reused, because a new one takes a megabyte.
var deflaters sync.Pool

// deflater returns to deflaters when it is closed. It must be closed once.
type deflater struct{ *flate.Writer }

func deflateTo(out io.Writer) (io.WriteCloser, error) {
	if w, ok := deflaters.Get().(*flate.Writer); ok {
		w.Reset(out)
		return deflater{w}, nil
	}
	w, err := flate.NewWriter(out, level)
	return deflater{w}, err
}

func (d deflater) Close() error {
	err := d.Writer.Close()
	deflaters.Put(d.Writer)
	return err
}

// method returns deflate, except for content that shrinks so much that Unpack would reject it as a
// bomb. A package from here can therefore be uploaded again.
func method(content string) uint16 {
	if len(content) <= ratioMatters {
		return zip.Deflate
	}
	var packed bytes.Buffer
	w, err := deflateTo(&packed)
	if err != nil {
		return zip.Deflate // its writer reports the error again
	}
	_, err = io.WriteString(w, content)
	if errors.Join(err, w.Close()) == nil && len(content)/max(1, packed.Len()) > maxRatio {
		return zip.Store
	}
	return zip.Deflate
}

func checkPackage(skillMD []byte, files []File) error {
	if len(skillMD) > MaxSkillMD {
		return fault.New(fault.TooLarge, fmt.Sprintf("SKILL.md has %d bytes, at most %d are allowed", len(skillMD),
			MaxSkillMD),
			"move details to reference files")
	}
	var all Files
	for _, f := range files {
		if clean, err := CheckFile(f.Kind(), f.Name()); err != nil || f.Path != f.Kind()+"/"+clean {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid package file %q", f.Path), "")
		}
		if !all.Add(f.Kind(), f.Name(), f.Content) {
			return fault.New(fault.TooLarge, all.Violations()[0], "")
		}
	}
	return nil
}
