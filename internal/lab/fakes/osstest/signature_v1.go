package osstest

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"
)

// verifyV1Header checks `Authorization: OSS <id>:<signature>`.
func (s *Server) verifyV1Header(r *http.Request, bucket, key, credentials string) string {
	id, sent, _ := strings.Cut(credentials, ":")
	date := r.Header.Get("Date")
	if s.skewed(http.ParseTime(date)) {
		return "RequestTimeTooSkewed"
	}
	return compare(id, sent, signV1(r, date, bucket, key))
}

// verifyV1URL checks a signed URL, which contains its expiry time instead of the date.
func (s *Server) verifyV1URL(r *http.Request, bucket, key string) string {
	query := r.URL.Query()
	expires := query.Get("Expires")
	if refused := compare(query.Get("OSSAccessKeyId"), query.Get("Signature"),
		signV1(r, expires, bucket, key)); refused != "" {
		return refused
	}
	if end, err := seconds(expires); err != nil || s.now().After(end) {
		return "AccessDenied"
	}
	return ""
}

// signV1 returns OSS' V1 signature: HMAC-SHA1 over the request's parts.
func signV1(r *http.Request, date, bucket, key string) string {
	text := strings.Join([]string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), date,
		ossHeaders(r) + resourceV1(r.URL.Query(), bucket, key)}, "\n")
	mac := hmac.New(sha1.New, []byte(AccessKeySecret))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
