// Package objectstore keeps immutable objects, such as skill packages, under keys.
//
//	store, err := blob.Local(".cairn/objects")
//	err = store.Put(ctx, "skills/ws/42/v1-09ab/rollback.zip", archive)
//
// A key is written once. Writing the same bytes again is success, so a retried
// upload needs no thought; writing others is fault.AlreadyExists. A reader sees
// a whole object or none, whatever crashes in between.
//
// Local keeps objects in a directory, OSS in a bucket of Alibaba Cloud:
//
//	store, err := blob.OSS(blob.OSSConfig{Endpoint: "oss-cn-shanghai.aliyuncs.com", Bucket: "skills", …})
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

// Store is one place for objects. Its methods may be called concurrently, by
// several processes too. Their errors are *fault.Error, but for a done ctx.
type Store interface {
	// Put writes data under key, once.
	Put(ctx context.Context, key string, data []byte) error
	// Get reads an object, or fails with fault.NotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Exists tells whether key has been written.
	Exists(ctx context.Context, key string) (bool, error)
	// Delete removes an object; one that is not there is success.
	Delete(ctx context.Context, key string) error
	// Locate gives the path or URL of key for people to read. It does not look
	// whether the object is there.
	Locate(key string) string
}

const (
	longestKey  = 1024 // bytes, the limit of S3
	longestPart = 255  // bytes between slashes, the limit of most file systems
)

// CheckKey refuses what is no clean relative path with forward slashes.
func CheckKey(key string) error {
	refuse := func(why string) error {
		return fault.New(fault.InvalidArgument, "object key "+strconv.Quote(key)+" "+why,
			"use a relative path such as skills/42/package.zip")
	}
	switch {
	case key == "":
		return refuse("is empty")
	case len(key) > longestKey:
		return fault.Newf(fault.InvalidArgument, "an object key has %d bytes, at most %d are allowed", len(key),
			longestKey)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\\'
	}):
		return refuse("holds control characters or backslashes")
	case !filepath.IsLocal(filepath.FromSlash(key)) || path.Clean(key) != key || key == ".":
		return refuse("is not a clean path below the root")
	}
	for part := range strings.SplitSeq(key, "/") {
		if len(part) > longestPart {
			return fault.Newf(fault.InvalidArgument, "a part of an object key has %d bytes, at most %d are allowed",
				len(part), longestPart)
		}
		if strings.HasPrefix(part, tempPrefix) {
			return refuse("has a part that begins with " + tempPrefix + ", which is reserved")
		}
	}
	return nil
}
