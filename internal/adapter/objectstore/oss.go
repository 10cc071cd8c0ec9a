package objectstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aliyun/aliyun-oss-go-sdk/oss"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

const (
	longestOSSKey = 1023 // bytes with the prefix, the limit of OSS
	// sumMeta is the metadata field with the object's SHA-256 in hex. OSS checked the Content-MD5
	// when it stored the field, so it is reliable. An ETag is an MD5 only for some ways of writing
	// and encrypting.
	sumMeta = "Sha256"
	// longestSigned is the longest lifetime of a V4 signature in OSS.
	longestSigned = 7 * 24 * time.Hour
)

// OSSStore stores objects in a bucket of Alibaba Cloud OSS, through its own SDK. Each call makes at
// most three requests and retries none: the caller decides about retries, based on fault.Table.
//
// In a bucket with versioning, OSS ignores the header that prevents overwriting. There a key is
// written once only if no caller writes other bytes to it. This holds for keys that contain a hash.
type OSSStore struct {
	bucket *oss.Bucket
	prefix string // prefix of every key; empty, or ending in a slash
	base   string // URL of the bucket for people, ending in a slash
}

var _ Store = (*OSSStore)(nil)

// OSS opens a bucket. It makes no request. It fails if a setting is missing or invalid.
func OSS(c OSSConfig) (*OSSStore, error) { return openOSS(c, ossTransport()) }

func openOSS(c OSSConfig, transport http.RoundTripper) (*OSSStore, error) {
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	client, err := oss.New(place.endpoint, c.AccessKeyID, c.AccessKeySecret,
		oss.AuthVersion(place.auth), oss.Region(place.region), oss.SecurityToken(c.SessionToken),
		oss.VerifyObjectStrict(false), // otherwise a key that begins with ? cannot be signed
		oss.HTTPClient(&http.Client{Transport: noteStatus{transport}, Timeout: place.timeout, CheckRedirect: stay}))
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "open OSS", "check OSS_ENDPOINT")
	}
	bucket, err := client.Bucket(c.Bucket)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "invalid OSS_BUCKET_NAME",
			"use the bucket's name as the OSS console shows it")
	}
	return &OSSStore{bucket: bucket, prefix: place.prefix, base: place.base}, nil
}

// Put writes an object unless its key is taken. OSS checks the bytes against their MD5 before it
// stores them.
func (s *OSSStore) Put(ctx context.Context, key string, data []byte) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	call, err := s.call(ctx, "write object", key)
	if err != nil {
		return err
	}
	sum, digest := sha256.Sum256(data), md5.Sum(data)
	err = s.bucket.PutObject(call.name, bytes.NewReader(data), call.context, oss.ForbidOverWrite(true),
		oss.ContentMD5(base64.StdEncoding.EncodeToString(digest[:])), oss.Meta(sumMeta, hex.EncodeToString(sum[:])))
	if call.taken(err) {
		return s.same(ctx, key, data, sum)
	}
	return call.trouble(err)
}

// same returns nil if the existing object contains data.
func (s *OSSStore) same(ctx context.Context, key string, data []byte, sum [sha256.Size]byte) error {
	call, err := s.call(ctx, "compare object", key)
	if err != nil {
		return err
	}
	headers, err := s.bucket.GetObjectDetailedMeta(call.name, call.context)
	if call.missing(err) {
		return fault.Newf(fault.Unavailable, "object %q was deleted while it was being written", key)
	}
	if err != nil {
		return call.trouble(err)
	}
	same := headers.Get(oss.HTTPHeaderContentLength) == strconv.Itoa(len(data))
	if kept := headers.Get(oss.HTTPHeaderOssMetaPrefix + sumMeta); same && kept != "" {
		same = kept == hex.EncodeToString(sum[:])
	} else if same { // uploaded by another process
		existing, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		same = bytes.Equal(existing, data)
	}
	if !same {
		return fault.New(fault.AlreadyExists, fmt.Sprintf("object %q already exists with different content", key),
			"use a new key; objects never change")
	}
	return nil
}

// Get reads the whole object and checks it against the CRC that OSS sends.
func (s *OSSStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	call, err := s.call(ctx, "read object", key)
	if err != nil {
		return nil, err
	}
	result, err := s.bucket.DoGetObject(&oss.GetObjectRequest{ObjectKey: call.name}, []oss.Option{call.context})
	if err != nil {
		return nil, call.trouble(err)
	}
	data, err := io.ReadAll(result.Response)
	if closed := result.Response.Close(); err == nil {
		err = closed
	}
	if err == nil {
		result.Response.ClientCRC = result.ClientCRC.Sum64()
		err = oss.CheckCRC(result.Response, "GetObject")
	}
	if err != nil {
		return nil, call.trouble(err)
	}
	return data, nil
}

// Exists reports whether the object exists, by a HEAD request.
func (s *OSSStore) Exists(ctx context.Context, key string) (bool, error) {
	if err := txscope.Reject(ctx); err != nil {
		return false, err
	}
	call, err := s.call(ctx, "look for object", key)
	if err != nil {
		return false, err
	}
	_, err = s.bucket.GetObjectDetailedMeta(call.name, call.context)
	if call.missing(err) {
		return false, nil
	}
	return err == nil, call.trouble(err)
}

// List returns the keys of the objects directly in a folder, page by page.
func (s *OSSStore) List(ctx context.Context, folder string) (out []string, err error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	call, err := s.call(ctx, "list folder", folder)
	if err != nil {
		return nil, err
	}
	request := []oss.Option{oss.Prefix(call.name + "/"), oss.Delimiter("/"), call.context}
	for more := request; ; {
		page, err := s.bucket.ListObjectsV2(more...)
		if err != nil {
			return nil, call.trouble(err)
		}
		for _, object := range page.Objects {
			out = append(out, strings.TrimPrefix(object.Key, s.prefix))
		}
		if !page.IsTruncated {
			return out, nil
		}
		more = append(slices.Clip(request), oss.ContinuationToken(page.NextContinuationToken))
	}
}

// Delete removes the object. OSS returns success if it does not exist.
func (s *OSSStore) Delete(ctx context.Context, key string) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	call, err := s.call(ctx, "delete object", key)
	if err != nil {
		return err
	}
	if err := s.bucket.DeleteObject(call.name, call.context); err != nil && !call.missing(err) {
		return call.trouble(err)
	}
	return nil
}

// Locate returns the object's URL, or "" for a key that Put rejects. A private bucket needs Sign to
// open it.
func (s *OSSStore) Locate(key string) string {
	name, err := s.name(key)
	if err != nil {
		return ""
	}
	return s.base + escapePath(name)
}

// Sign returns a URL that reads the object without credentials for ttl, 1 s to 7 days, rounded down
// to seconds. It makes no request and does not check whether the object exists.
func (s *OSSStore) Sign(ctx context.Context, key string, ttl time.Duration) (string, error) {
	if err := txscope.Reject(ctx); err != nil {
		return "", err
	}
	call, err := s.call(ctx, "sign object", key)
	if err != nil {
		return "", err
	}
	if ttl < time.Second || ttl > longestSigned {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("invalid lifetime %s of a signed URL", ttl),
			"use 1 s to 7 days")
	}
	signed, err := s.bucket.SignURL(call.name, oss.HTTPGet, int64(ttl/time.Second))
	return signed, call.trouble(err)
}

// name returns the key inside the bucket.
func (s *OSSStore) name(key string) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	if name := s.prefix + key; len(name) <= longestOSSKey {
		return name, nil
	}
	return "", fault.Newf(fault.InvalidArgument, "object key too long: %d bytes with its prefix, OSS allows %d",
		len(s.prefix)+len(key), longestOSSKey)
}
