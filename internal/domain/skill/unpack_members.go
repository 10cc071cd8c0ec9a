package skill

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

const (
	// maxMembers also limits what MaxFiles excludes: folders, and the shadow file that macOS adds
	// for each file.
	maxMembers = 4 * MaxFiles
	// maxRatio is the maximum ratio of inflated to packed bytes. Deflate reaches 1,032 for zeros;
	// prose and code stay below 20. It does not apply to small members.
	maxRatio     = 200
	ratioMatters = 64 << 10 // inflated bytes
	maxPath      = 255      // bytes, the limit of most file systems for one name

	emptyDeflate = 2 // packed size of an empty file

	flagEncrypted  = 1<<0 | 1<<6 | 1<<13 // of the data, strongly, of the directory
	flagDescriptor = 1 << 3              // sizes follow the data
)

const leaveOut = "leave out what the skill does not need"

// member is a regular file of an archive.
type member struct {
	name    string // as in the archive, checked
	content string
}

func (m member) refuse(code fault.Code, why, hint string) error {
	return refuseMember(code, m.name, why, hint)
}

func refuseMember(code fault.Code, name, why, hint string) error {
	return fault.New(code, fmt.Sprintf("member \"%s\": %s", printable(name), why), hint)
}

// junk reports whether an operating system added the member. It must pass the checks of the
// archive, but is not part of the skill.
func (m member) junk() bool {
	base := path.Base(m.name)
	return strings.HasPrefix(m.name, "__MACOSX/") && strings.HasPrefix(base, "._") || base == ".DS_Store" ||
		base == "Thumbs.db" || base == "desktop.ini"
}

// readMembers inflates an archive's files. It first checks all claims of the directory, so that a
// bomb costs nothing.
func readMembers(archive []byte) ([]member, error) {
	reader, err := openArchive(archive)
	if err != nil {
		return nil, err
	}
	regular, err := checkDirectory(reader.File)
	if err != nil {
		return nil, err
	}
	if err := tiled(archive, reader.File); err != nil {
		return nil, err
	}
	members := make([]member, len(regular))
	for i, f := range regular {
		content, err := inflate(f)
		if err != nil {
			return nil, err
		}
		members[i] = member{name: f.Name, content: content}
	}
	return members, nil
}

func openArchive(archive []byte) (*zip.Reader, error) {
	if len(archive) > MaxPackage {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("the package has %d bytes, at most %d are allowed", len(archive), MaxPackage), leaveOut)
	}
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked one by one, with a message each
		return nil, fault.Wrap(err, fault.InvalidArgument, "the package is not a whole zip archive",
			"pack the skill's folder as .zip and send that file")
	}
	return reader, nil
}

// checkDirectory checks each member, then all together, and returns the regular files.
func checkDirectory(all []*zip.File) ([]*zip.File, error) {
	if n := len(all); n > maxMembers {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("the package has %d members, at most %d are allowed", n, maxMembers), leaveOut)
	}
	var regular []*zip.File
	files, total := 0, uint64(0)
	taken, folders := map[string]string{}, map[string]bool{}
	for _, f := range all {
		if why, hint := suspicious(f); why != "" {
			return nil, refuseMember(fault.InvalidArgument, f.Name, why, hint)
		}
		if err := tooLarge(f); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(f.Name, "/")
		key := fold(name)
		if other, ok := taken[key]; ok {
			return nil, refuseMember(fault.InvalidArgument, f.Name,
				fmt.Sprintf("another member has the same name, \"%s\"", printable(other)),
				"use names that differ in more than case")
		}
		taken[key] = f.Name
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			folders[fold(folder)] = true
		}
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if regular = append(regular, f); !(member{name: f.Name}).junk() {
			files++
		}
		if total += f.UncompressedSize64; total > MaxPackage {
			return nil, refuseMember(fault.TooLarge, f.Name,
				fmt.Sprintf("the package inflates to more than %d bytes at this member", MaxPackage), leaveOut)
		}
	}
	if files > MaxFiles {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("the package has %d files, at most %d are allowed", files, MaxFiles), leaveOut)
	}
	for _, f := range regular {
		if folders[fold(f.Name)] {
			return nil, refuseMember(fault.InvalidArgument, f.Name, "it is both a file and a folder",
				"rename one of them")
		}
	}
	return regular, nil
}

// suspicious returns the reason why a member must not be opened, and the hint.
func suspicious(f *zip.File) (why, hint string) {
	const plain = "pack plain files below one folder"
	name := strings.TrimSuffix(f.Name, "/")
	invisible := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	folder := strings.HasSuffix(f.Name, "/")
	drive := len(name) > 1 && name[1] == ':'
	switch {
	case f.Flags&flagEncrypted != 0:
		return "it is encrypted", "pack it without a password"
	case !utf8.ValidString(name):
		return "its name is not UTF-8", "pack it with a tool that writes UTF-8 names"
	case strings.Contains(name, `\`):
		return "its name has a backslash", "pack it with a tool that writes forward slashes"
	case strings.HasPrefix(name, "/") || drive:
		return "its path is absolute", plain
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "its path leaves the package", plain
	case name == "" || name == "." || path.Clean(name) != name || !filepath.IsLocal(name) ||
		strings.Contains(name, ":"):
		return "its path is not clean", plain
	case strings.ContainsFunc(name, invisible):
		return "its name has invisible characters", "rename it"
	case len(name) > maxPath:
		return fmt.Sprintf("its path is longer than %d bytes", maxPath), "use shorter names"
	case f.Mode()&fs.ModeSymlink != 0:
		return "it is a symbolic link", "pack the file that it points to"
	case folder && (f.UncompressedSize64 > 0 || f.CompressedSize64 > emptyDeflate):
		return "it is a folder with content", plain
	case folder && f.Mode().Type() != fs.ModeDir || !folder && !f.Mode().IsRegular() ||
		f.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return fmt.Sprintf("it is not a regular file (%s)", f.Mode()), plain
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("it is compressed by method %d", f.Method), "use deflate"
	}
	return "", ""
}

// tooLarge checks the sizes that a member claims; inflate enforces them.
func tooLarge(f *zip.File) error {
	switch size, packed := f.UncompressedSize64, max(1, f.CompressedSize64); {
	case size > MaxFile:
		return refuseMember(fault.TooLarge, f.Name,
			fmt.Sprintf("it inflates to %d bytes, at most %d are allowed", size, MaxFile), "split it, or leave it out")
	case size > ratioMatters && size/packed > maxRatio:
		return refuseMember(fault.TooLarge, f.Name,
			fmt.Sprintf("it inflates %d times, at most %d are allowed", size/packed, maxRatio), "leave it out")
	}
	return nil
}

// inflate reads a member, which must have exactly the claimed size.
func inflate(f *zip.File) (string, error) {
	in, err := f.Open()
	if err != nil {
		return "", damagedMember(f, err)
	}
	content := make([]byte, f.UncompressedSize64) // at most MaxFile
	if _, err = io.ReadFull(in, content); err == nil {
		if _, end := in.Read(make([]byte, 1)); end != io.EOF {
			err = errors.Join(end, errors.New("more data than its stated size"))
		}
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return "", damagedMember(f, err)
	}
	return string(content), nil
}

func damagedMember(f *zip.File, err error) error {
	return fault.Wrap(err, fault.InvalidArgument, fmt.Sprintf("member \"%s\" is damaged", printable(f.Name)),
		"pack it again")
}
