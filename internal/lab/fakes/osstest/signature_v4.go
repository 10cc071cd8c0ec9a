package osstest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	schemeV4 = "OSS4-HMAC-SHA256"
	timeV4   = "20060102T150405Z"
	dayV4    = "20060102"
	unsigned = "UNSIGNED-PAYLOAD" // the only body hash that OSS accepts
	endV4    = "aliyun_v4_request"
)

// verifyV4Header checks `Authorization: OSS4-HMAC-SHA256 Credential=…,Signature=…`. The date is
// that of x-oss-date, or of Date in HTTP format.
func (s *Server) verifyV4Header(r *http.Request, bucket, key, parameters string) string {
	values := map[string]string{}
	for part := range strings.SplitSeq(parameters, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		values[name] = value
	}
	date := r.Header.Get("Date")
	at, err := http.ParseTime(date)
	if own := r.Header.Get("X-Oss-Date"); own != "" {
		date = own
		at, err = time.Parse(timeV4, own)
	}
	if s.skewed(at, err) {
		return "RequestTimeTooSkewed"
	}
	if r.Header.Get("X-Oss-Content-Sha256") != unsigned {
		return "InvalidArgument"
	}
	return verifyV4(r, r.URL.Query(), bucket, key, values["Credential"], values["Signature"],
		values["AdditionalHeaders"], date, at)
}

// verifyV4URL checks a signed URL. All its parts are in the query, and the signature covers all of
// them except itself.
func (s *Server) verifyV4URL(r *http.Request, bucket, key string) string {
	query := r.URL.Query()
	sent, date := query.Get("x-oss-signature"), query.Get("x-oss-date")
	at, err := time.Parse(timeV4, date)
	life, wrong := strconv.Atoi(query.Get("x-oss-expires"))
	if err != nil || wrong != nil || life < 1 || life > 7*24*3600 || query.Get("x-oss-signature-version") != schemeV4 {
		return "AuthorizationQueryParametersError"
	}
	query.Del("x-oss-signature")
	if refused := verifyV4(r, query, bucket, key, query.Get("x-oss-credential"), sent,
		query.Get("x-oss-additional-headers"), date, at); refused != "" {
		return refused
	}
	if s.now().After(at.Add(time.Duration(life)*time.Second)) || at.Sub(s.now()) > skew {
		return "AccessDenied"
	}
	return ""
}

func verifyV4(r *http.Request, query url.Values, bucket, key, credential, sent, additional, date string,
	at time.Time) string {
	id, scope, _ := strings.Cut(credential, "/")
	if want := strings.Join([]string{at.UTC().Format(dayV4), Region, "oss", endV4}, "/"); scope != want {
		return "InvalidArgument"
	}
	extra := append(strings.FieldsFunc(additional, func(r rune) bool { return r == ';' }), "content-type",
		"content-md5")
	request := strings.Join([]string{r.Method, encode("/"+bucket+"/"+key, true), canonicalQuery(query),
		ossHeaders(r, extra...), additional, unsigned}, "\n")
	hashed := sha256.Sum256([]byte(request))
	text := strings.Join([]string{schemeV4, date, scope, hex.EncodeToString(hashed[:])}, "\n")
	secret := []byte("aliyun_v4" + AccessKeySecret)
	for part := range strings.SplitSeq(scope, "/") {
		secret = sign(secret, part)
	}
	return compare(id, sent, hex.EncodeToString(sign(secret, text)))
}

func sign(secret []byte, text string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func canonicalQuery(query url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		part := encode(name, false)
		if value := query.Get(name); value != "" {
			part += "=" + encode(value, false)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "&")
}

// encode percent-encodes every byte except RFC 3986's unreserved ones.
func encode(text string, slashes bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-_.~", c) >= 0
		if plain || slashes && c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
