// Package fetch downloads files from URLs that users provide, without giving access to the server's
// internal network.
//
//	archive, err := fetch.Get(ctx, "https://example.org/skill.zip", fetch.Options{})
//
// Every address is checked when its connection is made: after the name was resolved, and again by
// the socket itself, on each hop of a redirect. A name that points to an internal address, or that
// changes between two look-ups, is refused. Proxies of the environment are not used, because a
// proxy would connect without these checks.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

const (
	maxBytes     = 5 << 20 // a whole package
	timeout      = 30 * time.Second
	maxRedirects = 3
	maxHeader    = 64 << 10 // bytes of a response's header
)

// Options are a caller's limits. The zero value is suitable for uploads.
type Options struct {
	MaxBytes  int64         // of the body; 0: 5 MB
	Timeout   time.Duration // total, including redirects and the body; 0: 30 s
	AllowHTTP bool          // also allows plain http

	Resolver Resolver         // nil: the system's
	Trusted  []netip.AddrPort // for tests: exactly these addresses are not checked
	Roots    *x509.CertPool   // for tests: trusted certificate authorities; nil: the system's
}

// Resolver looks up the addresses of a name. *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const uploadHint = "use a public https address, or upload the file itself"

// Get downloads the body of a URL, whatever its content type. Unless ctx is done, its errors are
// *fault.Error: InvalidArgument for a URL that may not be fetched, TooLarge, NotFound, and
// Unavailable if a retry may help. They name the host and never the rest of the URL, which may be a
// secret.
func Get(ctx context.Context, address string, o Options) ([]byte, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = maxBytes
	}
	if o.Timeout <= 0 {
		o.Timeout = timeout
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, "invalid URL", uploadHint)
	}
	if err := o.checkURL(u); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	data, err := o.download(limited, u)
	if err == nil {
		return data, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fetch from %s: %w", u.Hostname(), ctx.Err())
	}
	return nil, o.trouble(u, err)
}

func (o Options) download(ctx context.Context, u *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "cairn")
	transport := o.transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: o.redirect}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if err := o.checkAnswer(response); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, o.MaxBytes+1))
	if err == nil && int64(len(data)) > o.MaxBytes {
		err = o.tooLarge(response.Request.URL)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// checkURL checks everything that does not need a resolved name.
func (o Options) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https" && !(o.AllowHTTP && u.Scheme == "http"):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("unsupported URL scheme %q", u.Scheme), uploadHint)
	case u.User != nil:
		return fault.New(fault.InvalidArgument, "the URL contains credentials",
			"use a URL that works without them, such as a signed one")
	case u.Hostname() == "":
		return fault.New(fault.InvalidArgument, "the URL has no host", uploadHint)
	}
	return nil
}

// redirect checks each further hop. Its address is checked by dial.
func (o Options) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s redirects more than %d times", via[0].URL.Hostname(), maxRedirects),
			"use the final address")
	}
	next.Header.Del("Referer") // the previous URL may be a secret
	return o.checkURL(next.URL)
}

func (o Options) checkAnswer(r *http.Response) error {
	message := fmt.Sprintf("%s returned %d %s", r.Request.URL.Hostname(), r.StatusCode, http.StatusText(r.StatusCode))
	switch {
	case r.StatusCode == http.StatusOK && r.ContentLength > o.MaxBytes:
		return o.tooLarge(r.Request.URL)
	case r.StatusCode == http.StatusOK:
		return nil
	case r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout:
		return fault.New(fault.Unavailable, message, "try again later, or upload the file itself")
	case r.StatusCode == http.StatusNotFound, r.StatusCode == http.StatusGone:
		return fault.New(fault.NotFound, message, "check the URL")
	}
	return fault.New(fault.InvalidArgument, message, "the file must be readable without signing in")
}

func (o Options) tooLarge(u *url.URL) error {
	return fault.New(fault.TooLarge, fmt.Sprintf("the file at %s has more than %d bytes", u.Hostname(), o.MaxBytes),
		"remove the files that the skill does not need")
}

// trouble converts the error of a failed download to a fault. It drops the URL that net/http puts
// into its errors.
func (o Options) trouble(u *url.URL, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	message := "fetch from " + u.Hostname()
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, fmt.Sprintf("%s took longer than %s", message, o.Timeout),
			"try again later, or upload the file itself")
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fault.Wrap(err, fault.InvalidArgument, message, uploadHint)
	}
	return fault.Wrap(err, fault.Unavailable, message, "check the URL, try again later, or upload the file itself")
}
