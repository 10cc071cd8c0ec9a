package osstest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// object is a stored object.
type object struct {
	data []byte
	meta map[string]string // x-oss-meta-…, without the prefix
}

// answer is the response to a request.
type answer struct {
	status int
	code   string // OSS' error code
	header map[string]string
	body   []byte
}

func failure(status int, code string) answer {
	body, _ := xml.Marshal(struct {
		XMLName                  xml.Name `xml:"Error"`
		Code, Message, RequestId string
	}{Code: code, Message: "osstest: " + code, RequestId: "1"})
	header := map[string]string{"Content-Type": "application/xml"}
	if status/100 == 3 {
		header["Location"] = "/" + Bucket + "/elsewhere"
	}
	return answer{status: status, code: code, body: body, header: header}
}

func (s *Server) handle(r *http.Request, key string) answer {
	existing, found := s.objects[key]
	switch {
	case key == "" && r.URL.Query().Get("list-type") == "2":
		return s.list(r.URL.Query())
	case key == "":
		return failure(http.StatusBadRequest, "InvalidObjectName")
	case r.Method == http.MethodPut:
		return s.put(r, key, found)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		return answer{status: http.StatusNoContent}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return failure(http.StatusMethodNotAllowed, "MethodNotAllowed")
	case !found:
		return failure(http.StatusNotFound, "NoSuchKey")
	}
	return answer{status: http.StatusOK, header: existing.header(), body: existing.data}
}

// maxListed is the number of keys in a page, far fewer than OSS returns.
const maxListed = 3

// list is one page of ListObjectsV2 with the delimiter "/".
func (s *Server) list(query url.Values) answer {
	type content struct{ Key string }
	page := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		EncodingType          string
		Contents              []content
	}{EncodingType: query.Get("encoding-type")}
	prefix, after := query.Get("prefix"), query.Get("continuation-token")
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		rest, ok := strings.CutPrefix(key, prefix)
		switch {
		case !ok || key <= after || query.Get("delimiter") == "/" && strings.Contains(rest, "/"):
		case len(page.Contents) == maxListed:
			page.IsTruncated, page.NextContinuationToken = true, url.QueryEscape(after)
		default:
			page.Contents, after = append(page.Contents, content{url.QueryEscape(key)}), key
		}
	}
	body, err := xml.Marshal(page)
	if err != nil {
		return failure(http.StatusInternalServerError, "InternalError")
	}
	return answer{status: http.StatusOK, body: body, header: map[string]string{"Content-Type": "application/xml"}}
}

func (s *Server) put(r *http.Request, key string, found bool) answer {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return failure(http.StatusBadRequest, "RequestTimeout")
	}
	digest := md5.Sum(data)
	if sent := r.Header.Get("Content-MD5"); sent != "" && sent != base64.StdEncoding.EncodeToString(digest[:]) {
		return failure(http.StatusBadRequest, "BadDigest")
	}
	if found && strings.EqualFold(r.Header.Get("X-Oss-Forbid-Overwrite"), "true") {
		return failure(http.StatusConflict, "FileAlreadyExists")
	}
	stored := object{data: data, meta: map[string]string{}}
	for name, values := range r.Header {
		if note, ok := strings.CutPrefix(strings.ToLower(name), "x-oss-meta-"); ok {
			stored.meta[note] = values[0]
		}
	}
	s.objects[key] = stored
	header := stored.header()
	delete(header, "Content-Length")
	return answer{status: http.StatusOK, header: header}
}

func (o object) header() map[string]string {
	header := map[string]string{
		"Content-Length":       strconv.Itoa(len(o.data)),
		"ETag":                 fmt.Sprintf(`"%X"`, md5.Sum(o.data)),
		"X-Oss-Hash-Crc64ecma": strconv.FormatUint(crc64.Checksum(o.data, crc64.MakeTable(crc64.ECMA)), 10),
	}
	for note, value := range o.meta {
		header["X-Oss-Meta-"+note] = value
	}
	return header
}

// write sends the response. With cut it sends half of it and breaks the connection. Like OSS, it
// puts the error of a HEAD request into a header, because the response has no body.
func (a answer) write(w http.ResponseWriter, r *http.Request, cut bool) {
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if r.Method == http.MethodHead && a.code != "" {
		w.Header().Set("X-Oss-Err", base64.StdEncoding.EncodeToString(a.body))
	}
	if !cut {
		w.WriteHeader(a.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(a.body)
		}
		return
	}
	if half := len(a.body) / 2; half > 0 {
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body[:half])
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler) // breaks the connection in net/http
}
