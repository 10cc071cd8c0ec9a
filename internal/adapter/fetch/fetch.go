// Package fetch downloads what a user names by URL, without becoming a way
// into the network that the server stands in.
//
//	archive, err := fetch.Get(ctx, "https://example.org/skill.zip", fetch.Options{})
//
// Every address is judged when its connection is made, after the name was
// resolved and once more by the socket itself, on each hop of a redirect. So a
// name that points inside, or that changes its mind between two look-ups,
// reaches nothing. Proxies of the environment are not used: a proxy would
// connect on our behalf, unguarded.
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
	maxBytes     = 5 << 20 // a whole package (spec/skill-memory.md §1.10)
	timeout      = 30 * time.Second
	maxRedirects = 3
	maxHeader    = 64 << 10 // bytes of an answer's header
)

// Options are a caller's limits. The zero value is right for uploads.
type Options struct {
	MaxBytes  int64         // of the body; 0: 5 MB
	Timeout   time.Duration // of everything, redirects and body included; 0: 30 s
	AllowHTTP bool          // also plain http

	Resolver Resolver         // nil: the system's
	Trusted  []netip.AddrPort // for tests: these exact addresses are not judged
	Roots    *x509.CertPool   // for tests: who signs certificates; nil: the system's
}

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const uploadHint = "use a public https address, or upload the file itself"

// Get downloads the body behind a URL. Its content type does not matter. Its
// errors are *fault.Error, but for a done ctx: InvalidArgument for a URL that
// may not be fetched, TooLarge, NotFound, and Unavailable when trying again
// may help. They name the host and never the rest of the URL, which may be a
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
		return nil, fault.New(fault.InvalidArgument, "the URL cannot be read", uploadHint)
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

// checkURL judges what can be judged before anything is resolved.
func (o Options) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https" && !(o.AllowHTTP && u.Scheme == "http"):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%q URLs are not fetched", u.Scheme), uploadHint)
	case u.User != nil:
		return fault.New(fault.InvalidArgument, "the URL holds credentials",
			"use a URL that can be read without them, such as a signed one")
	case u.Hostname() == "":
		return fault.New(fault.InvalidArgument, "the URL has no host", uploadHint)
	}
	return nil
}

// redirect judges each further hop. Its address is judged when it is dialled.
func (o Options) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s redirects more than %d times", via[0].URL.Hostname(), maxRedirects),
			"use the final address")
	}
	next.Header.Del("Referer") // the URL before may be a secret
	return o.checkURL(next.URL)
}

func (o Options) checkAnswer(r *http.Response) error {
	message := fmt.Sprintf("%s answered %d %s", r.Request.URL.Hostname(), r.StatusCode, http.StatusText(r.StatusCode))
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
		"leave out what the skill does not need")
}

// trouble gives the code of a failed download. It drops the URL that net/http
// puts into its errors.
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
