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

// ossCall is one request, with what is needed to judge how it ended.
type ossCall struct {
	ctx       context.Context
	operation string
	key       string // the caller's
	name      string // the bucket's
	status    *int   // of the answer; 0 as long as there is none
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

// taken tells that Put was refused because there is an object. FileImmutable
// is how a bucket under a retention policy says it.
func (c ossCall) taken(err error) bool {
	code := codeOf(err)
	return *c.status == http.StatusConflict && (code == "FileAlreadyExists" || code == "FileImmutable")
}

func (c ossCall) missing(err error) bool {
	return err != nil && *c.status == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}

// hints by OSS' own code, where it says more than the status.
var ossHints = map[string]string{
	"InvalidAccessKeyId":    "OSS does not know OSS_ACCESS_KEY_ID",
	"SignatureDoesNotMatch": "check OSS_ACCESS_KEY_SECRET and OSS_REGION",
	"RequestTimeTooSkewed":  "set this machine's clock; OSS accepts 15 minutes of difference",
	"SecurityTokenExpired":  "OSS_SESSION_TOKEN has expired; get a new one",
	"AccessDenied":          "the key needs PutObject, GetObject and DeleteObject on the bucket",
	"NoSuchBucket":          "create the bucket, or check OSS_BUCKET_NAME and OSS_ENDPOINT",
}

// repeatable are answers with a 4xx status after which the same request may
// succeed: bytes damaged on the way, a body that came too slowly.
var repeatable = map[string]bool{"BadDigest": true, "InvalidDigest": true, "RequestTimeout": true,
	"OperationAborted": true}

// trouble gives the code of a failure, nil for nil: what somebody must set
// right is Misconfigured, what passes by itself Unavailable.
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
		return fault.Newf(fault.NotFound, "there is no object %q", c.key)
	case status == 0:
		return fault.Wrap(err, fault.Unavailable, message, "check the network and OSS_ENDPOINT")
	case status < 300: // the answer broke off, or its CRC is wrong
		return fault.Wrap(err, fault.Unavailable, message, "")
	case status < 400:
		return fault.Wrap(err, fault.Misconfigured, message, "OSS sends requests elsewhere; check OSS_ENDPOINT")
	case code == "FileImmutable":
		return fault.Wrap(err, fault.Protected, message, "the bucket's retention policy keeps it")
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, repeatable[code]:
		return fault.Wrap(err, fault.Unavailable, message, hint)
	case hint == "":
		hint = "the message is from OSS; check the OSS_ settings and the bucket's policy"
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

// noteStatus writes an answer's status to where its call looks for it: the SDK
// loses it when the body is not OSS' XML, as from a proxy in between.
type noteStatus struct{ http.RoundTripper }

func (n noteStatus) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.RoundTripper.RoundTrip(request)
	if status, ok := request.Context().Value(statusKey{}).(*int); ok && err == nil {
		*status = response.StatusCode
	}
	if err == nil && response.StatusCode/100 == 3 { // the SDK does not close it
		err = response.Body.Close()
		response.Body = http.NoBody
	}
	return response, err
}

// stay does not follow redirects: a signature is for one host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func ossTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       50 * time.Second, // below the minute after which OSS closes
		MaxIdleConnsPerHost:   100,
		DisableCompression:    true, // OSS would compress text and leave out length and CRC
	}
}
