package skill

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

const (
	localMark      = "PK\x03\x04"
	localFixed     = 30 // bytes of a local header before its name and extra field
	descriptorMark = "PK\x07\x08"
)

// tiled checks that the members are contiguous from the first byte to the archive's directory, with
// the same names. Programs differ in which of a member's two headers they trust, and in how they
// handle overlaps and gaps. A tiled archive is equal for all of them.
func tiled(archive []byte, files []*zip.File) error {
	type tile struct {
		file *zip.File
		data int64 // offset of its data
	}
	tiles := make([]tile, len(files))
	for i, f := range files {
		data, err := f.DataOffset()
		if err != nil {
			return damagedMember(f, err)
		}
		tiles[i] = tile{f, data}
	}
	slices.SortStableFunc(tiles, func(a, b tile) int { return int(a.data - b.data) })
	at, size := int64(0), int64(len(archive))
	for _, t := range tiles {
		if t.data < at+localFixed || t.data > size || !sameHeader(archive[at:t.data], t.file) ||
			t.file.CompressedSize64 > uint64(size-t.data) {
			return damagedMember(t.file, errors.New("its two headers differ, or hidden data precedes it"))
		}
		at = t.data + int64(t.file.CompressedSize64)
		if t.file.Flags&flagDescriptor != 0 {
			at += descriptor(archive[at:])
		}
	}
	rest := string(archive[at:])
	if strings.HasPrefix(rest, "PK\x01\x02") || strings.HasPrefix(rest, "PK\x05\x06") {
		return nil
	}
	return fault.New(fault.InvalidArgument, "the package has hidden data between its members and its directory",
		"pack it again")
}

// sameHeader compares a local header, which is all of these bytes, with the directory's header.
func sameHeader(header []byte, f *zip.File) bool {
	number := func(at int) int { return int(binary.LittleEndian.Uint16(header[at:])) }
	flags, method, name, extra := uint16(number(6)), uint16(number(8)), number(26), number(28)
	return string(header[:4]) == localMark && localFixed+name+extra == len(header) &&
		string(header[localFixed:localFixed+name]) == f.Name &&
		method == f.Method && (flags^f.Flags)&(flagEncrypted|flagDescriptor) == 0
}

// descriptor returns the length of the descriptor after a member's data: an optional mark, the CRC,
// and two sizes of 4 or 8 bytes each.
func descriptor(rest []byte) int64 {
	marked := 0
	if strings.HasPrefix(string(rest[:min(4, len(rest))]), descriptorMark) {
		marked = 4
	}
	for _, size := range []int{12, 20} {
		if end := marked + size; len(rest) > end+2 && string(rest[end:end+2]) == "PK" {
			return int64(end)
		}
	}
	return 0
}
