package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aliyun/aliyun-oss-go-sdk/oss"

	"cairn/internal/domain/fault"
)

// ossCall is one request and the data for judging its result.
type ossCall struct {
	ctx       context.Context
	operation string
	key       string // the caller's
	name      string // the bucket's
	status    *int   // of the response; 0 until it arrives
	context   oss.Option
}

type statusKey struct{}

func (s *OSSStore) call(ctx context.Context, operation, key string) (ossCall, error) {
	if err := ctx.Err(); err != nil {
		return ossCall{}, err
	}
	name, err := s.name(key)
	status := new(int)
	return ossCall{ctx: ctx, operation: operation, key: key, name: name, status: status,
		context: oss.WithContext(context.WithValue(ctx, statusKey{}, status))}, err
}

// taken reports whether Put was refused because the object exists. FileImmutable is the code of a
// bucket under a retention policy.
func (c ossCall) taken(err error) bool {
	code := codeOf(err)
	return *c.status == http.StatusConflict && (code == "FileAlreadyExists" || code == "FileImmutable")
}

func (c ossCall) missing(err error) bool {
	return err != nil && *c.status == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}

// ossHints maps codes of OSS to hints that are more specific than those by status.
var ossHints = map[string]string{
	"InvalidAccessKeyId":    "correct OSS_ACCESS_KEY_ID, which OSS does not know",
	"SignatureDoesNotMatch": "check OSS_ACCESS_KEY_SECRET and OSS_REGION",
	"RequestTimeTooSkewed":  "set this machine's clock; OSS accepts 15 minutes of difference",
	"SecurityTokenExpired":  "replace OSS_SESSION_TOKEN, which has expired",
	"AccessDenied":          "grant the key PutObject, GetObject and DeleteObject on the bucket",
	"NoSuchBucket":          "create the bucket, or check OSS_BUCKET_NAME and OSS_ENDPOINT",
}

// repeatable are codes with a 4xx status after which the same request may succeed: bytes damaged in
// transit, or a body that arrived too slowly.
var repeatable = map[string]bool{"BadDigest": true, "InvalidDigest": true, "RequestTimeout": true,
	"OperationAborted": true}

// trouble converts a failure to a fault, nil to nil. Failures that need a correction are
// Misconfigured; those that pass are Unavailable.
func (c ossCall) trouble(err error) error {
	if err == nil {
		return nil
	}
	message := fmt.Sprintf("%s %q in OSS", c.operation, c.key)
	if done := c.ctx.Err(); done != nil {
		return fmt.Errorf("%s: %w", message, done)
	}
	status, code := *c.status, codeOf(err)
	hint := ossHints[code]
	switch {
	case c.missing(err):
		return fault.Newf(fault.NotFound, "object %q does not exist", c.key)
	case status == 0:
		return fault.Wrap(err, fault.Unavailable, message, "check the network and OSS_ENDPOINT")
	case status < 300: // the response was cut off, or its CRC is wrong
		return fault.Wrap(err, fault.Unavailable, message, "")
	case status < 400:
		return fault.Wrap(err, fault.Misconfigured, message,
			"check OSS_ENDPOINT; OSS redirects the request to another host")
	case code == "FileImmutable":
		return fault.Wrap(err, fault.Protected, message,
			"change the bucket's retention policy, which protects the object")
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, repeatable[code]:
		return fault.Wrap(err, fault.Unavailable, message, hint)
	case hint == "":
		hint = "check the OSS_ settings and the bucket's policy; the message is from OSS"
	}
	return fault.Wrap(err, fault.Misconfigured, message, hint)
}

func codeOf(err error) string {
	var service oss.ServiceError
	if errors.As(err, &service) {
		return service.Code
	}
	return ""
}

// noteStatus stores a response's status in its call's context. The SDK loses the status if the body
// is not OSS' XML, for example from a proxy.
type noteStatus struct{ http.RoundTripper }

func (n noteStatus) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.RoundTripper.RoundTrip(request)
	if status, ok := request.Context().Value(statusKey{}).(*int); ok && err == nil {
		*status = response.StatusCode
	}
	if err == nil && response.StatusCode/100 == 3 { // the SDK does not close the body
		err = response.Body.Close()
		response.Body = http.NoBody
	}
	return response, err
}

// stay does not follow redirects: a signature is valid for one host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func ossTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       50 * time.Second, // below the minute after which OSS closes idle connections
		MaxIdleConnsPerHost:   100,
		DisableCompression:    true, // OSS would compress text and omit length and CRC
	}
}
