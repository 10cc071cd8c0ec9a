package osstest

import (
	"crypto/hmac"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// skew is the largest allowed deviation of a client's clock.
const skew = 15 * time.Minute

// verify checks a request's signature. It returns OSS' error code, or "" if the signature is valid.
func (s *Server) verify(r *http.Request, bucket, key string) string {
	query, authorization := r.URL.Query(), r.Header.Get("Authorization")
	switch {
	case strings.HasPrefix(authorization, schemeV4+" "):
		return s.verifyV4Header(r, bucket, key, strings.TrimPrefix(authorization, schemeV4+" "))
	case strings.HasPrefix(authorization, "OSS "):
		return s.verifyV1Header(r, bucket, key, strings.TrimPrefix(authorization, "OSS "))
	case query.Has("x-oss-signature"):
		return s.verifyV4URL(r, bucket, key)
	case query.Has("Signature"):
		return s.verifyV1URL(r, bucket, key)
	}
	return "AccessDenied"
}

// compare checks the key ID and compares the signatures in constant time. It returns OSS' error
// code, or "".
func compare(id, sent, want string) string {
	switch {
	case id != AccessKeyID:
		return "InvalidAccessKeyId"
	case !hmac.Equal([]byte(sent), []byte(want)):
		return "SignatureDoesNotMatch"
	}
	return ""
}

func (s *Server) skewed(at time.Time, err error) bool {
	return err != nil || s.now().Sub(at).Abs() > skew
}

// ossHeaders returns the headers that a signature covers: those of OSS and the extra ones, by name,
// one per line.
func ossHeaders(r *http.Request, extra ...string) string {
	var lines []string
	for name, values := range r.Header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-oss-") || slices.Contains(extra, name) {
			lines = append(lines, name+":"+strings.TrimSpace(values[0])+"\n")
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, ":")
		nameB, _, _ := strings.Cut(b, ":")
		return strings.Compare(nameA, nameB)
	})
	return strings.Join(lines, "")
}

// covered are the query parameters that select a part of an object and therefore belong to the
// resource that V1 signs. OSS has more; tests need these.
var covered = []string{
	"acl",
	"continuation-token",
	"objectMeta",
	"response-cache-control",
	"response-content-disposition",
	"response-content-encoding",
	"response-content-language",
	"response-content-type",
	"response-expires",
	"security-token",
	"tagging",
	"uploadId",
	"uploads",
	"versionId",
}

// resourceV1 returns the object's name, not encoded.
func resourceV1(query url.Values, bucket, key string) string {
	var parts []string
	for _, name := range covered {
		if !query.Has(name) {
			continue
		}
		if value := query.Get(name); value != "" {
			name += "=" + value
		}
		parts = append(parts, name)
	}
	resource := "/" + bucket + "/" + key
	if parts != nil {
		resource += "?" + strings.Join(parts, "&")
	}
	return resource
}

func seconds(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(n, 0), err
}
