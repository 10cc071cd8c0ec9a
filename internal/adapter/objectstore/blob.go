// Package objectstore stores immutable objects, such as skill packages, under keys.
//
//	store, err := objectstore.Local(".cairn/objects")
//	err = store.Put(ctx, "skills/ws/42/v1-09ab/rollback.zip", archive)
//
// A key is written once. Writing the same bytes again succeeds, so an upload can be retried.
// Writing other bytes fails with fault.AlreadyExists. A reader sees a complete object or none, even
// after a crash.
//
// Local stores objects in a directory, OSS in a bucket of Alibaba Cloud:
//
//	config := objectstore.OSSConfig{Endpoint: "oss-cn-shanghai.aliyuncs.com", Bucket: "skills", …}
//	store, err := objectstore.OSS(config)
//	url, err := store.Sign(ctx, key, 10*time.Minute) // to read without credentials
package objectstore

import (
	"context"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Store stores objects. Its methods are safe for concurrent use, including by several processes.
// Unless ctx is done, their errors are *fault.Error.
type Store interface {
	// Put writes data under key, once.
	Put(ctx context.Context, key string, data []byte) error
	// Get reads an object. It fails with fault.NotFound if key does not exist.
	Get(ctx context.Context, key string) ([]byte, error)
	// Exists reports whether key has been written.
	Exists(ctx context.Context, key string) (bool, error)
	// List returns the keys of the objects directly in a folder, sorted. A missing folder is empty.
	List(ctx context.Context, folder string) ([]string, error)
	// Delete removes an object. It succeeds if the object does not exist.
	Delete(ctx context.Context, key string) error
	// Locate returns the path or URL of key for people. It does not check whether the object
	// exists.
	Locate(key string) string
}

const (
	longestKey  = 1024 // bytes, the limit of S3
	longestPart = 255  // bytes between slashes, the limit of most file systems
)

// CheckKey rejects a key that is not a clean relative path with forward slashes.
func CheckKey(key string) error {
	refuse := func(why string) error {
		return fault.New(fault.InvalidArgument, "object key "+strconv.Quote(key)+" "+why,
			"use a relative path such as skills/42/package.zip")
	}
	switch {
	case key == "":
		return refuse("is empty")
	case len(key) > longestKey:
		return fault.Newf(fault.InvalidArgument, "object key too long: %d bytes, at most %d are allowed", len(key),
			longestKey)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\\'
	}):
		return refuse("contains control characters or backslashes")
	case !filepath.IsLocal(filepath.FromSlash(key)) || path.Clean(key) != key || key == ".":
		return refuse("is not a clean path below the root")
	}
	for part := range strings.SplitSeq(key, "/") {
		if len(part) > longestPart {
			return fault.Newf(fault.InvalidArgument, "part of an object key too long: %d bytes, at most %d are allowed",
				len(part), longestPart)
		}
		if strings.HasPrefix(part, tempPrefix) {
			return refuse("has a part that begins with " + tempPrefix + ", which is reserved")
		}
	}
	return nil
}
