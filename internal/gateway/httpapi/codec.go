package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// CodecPath is the path of the remote codec: Temporal UI and CLI send payloads to it
// for encryption and decryption. It is served only if payload keys are configured.
const CodecPath = "/codec"

const decodePath = "/decode"

// codecRoutes registers the remote codec of Temporal UI and CLI. The routes are for
// operators, so the OpenAPI document does not list them. /metrics is another such route.
func (g *Gateway) codecRoutes() {
	if g.Codec == nil {
		return
	}
	c := &codec{Gateway: g, convert: g.Codec, ui: originOf(g.Options.TemporalUI)}
	for _, does := range []string{"/encode", decodePath} {
		g.mux.HandleFunc("POST "+CodecPath+does, c.serve)
		g.mux.HandleFunc("OPTIONS "+CodecPath+does, c.preflight)
	}
	g.mux.HandleFunc("GET "+CodecPath+"/{$}", c.signIn)
}

type codec struct {
	*Gateway
	convert http.Handler
	ui      *url.URL // origin of Temporal UI; nil if TEMPORAL_UI_URL is not set
}

// serve converts the payloads of one request. An operator's key is sent as a bearer
// token, or as the password that a browser keeps after signIn. Such requests have no rate limit,
// because the UI sends one for each payload that it shows.
func (c *codec) serve(w http.ResponseWriter, r *http.Request) {
	if refused := c.admitOrigin(w, r); refused != nil {
		refused.Write(w)
		return
	}
	ctx, refused := c.operator(r)
	if refused != nil {
		refused.Write(w)
		return
	}
	done := &converted{header: http.Header{}}
	if c.convert.ServeHTTP(done, r); done.status != 0 && done.status != http.StatusOK {
		edge.NewProblem(fault.InvalidArgument, strings.TrimSpace(done.body.String()), "send payloads in the form of "+
			"Temporal UI and CLI; to decrypt payloads of an older key, keep that key in CAIRN_PAYLOAD_KEYS").Write(w)
		return
	}
	if strings.HasSuffix(r.URL.Path, decodePath) {
		if err := c.Audit.RecordOperator(ctx, audit.CodecDecode, "payloads of workflows"); err != nil {
			c.Edge.Refuse(ctx, "record a decoding", err).Write(w)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(done.body.Bytes()) // a write error means that the client has disconnected
}

// preflight answers a CORS preflight request.
func (c *codec) preflight(w http.ResponseWriter, r *http.Request) {
	if refused := c.admitOrigin(w, r); refused != nil {
		refused.Write(w)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// signIn makes a browser ask for a key, which the browser then sends with the requests of
// Temporal UI. The UI cannot hold a key in another way unless users sign in to the UI, too.
func (c *codec) signIn(w http.ResponseWriter, r *http.Request) {
	if _, refused := c.operator(r); refused != nil {
		refused.With("WWW-Authenticate", `Basic realm="cairn: any name, and an operator key as the password", `+
			`charset="UTF-8"`).Write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "Signed in. Temporal UI can decrypt now: in its data encoder settings, the endpoint is this "+
		"address without the last slash,\nand cross-origin credentials are included.")
}

// operator admits requests whose key is an operator key with the scope codec.
func (c *codec) operator(r *http.Request) (context.Context, *edge.Problem) {
	_, password, _ := r.BasicAuth()
	ctx, _, err := c.Edge.AdmitOperator(r, strings.TrimSpace(password), access.Codec)
	if err != nil {
		return nil, c.Edge.Refuse(r.Context(), "admit an operator", err)
	}
	return ctx, nil
}

// admitOrigin allows the page of Temporal UI to read the response and refuses other pages,
// because a browser would send the password for them, too. Programs send no origin.
func (c *codec) admitOrigin(w http.ResponseWriter, r *http.Request) *edge.Problem {
	w.Header().Add("Vary", "Origin")
	from := r.Header.Get("Origin")
	if from == "" {
		return nil
	}
	if !sameOrigin(originOf(from), c.ui) {
		return edge.NewProblem(fault.OutOfScope, "origin "+from+" is not allowed to decrypt",
			"set TEMPORAL_UI_URL to the address of Temporal UI in the browser")
	}
	w.Header().Set("Access-Control-Allow-Origin", from)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	return nil
}

// originOf returns the origin of a URL, or nil if the URL has none.
func originOf(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil
	}
	return &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host)}
}

// sameOrigin reports whether two origins are equal. All loopback names count as one host,
// because users open the UI under any of them.
func sameOrigin(a, b *url.URL) bool {
	if a == nil || b == nil || a.Scheme != b.Scheme {
		return false
	}
	return a.Host == b.Host || a.Port() == b.Port() && loopback(a.Hostname()) && loopback(b.Hostname())
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// converted stores the converter's response, whose errors are plain text.
type converted struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *converted) Header() http.Header         { return c.header }
func (c *converted) WriteHeader(status int)      { c.status = status }
func (c *converted) Write(b []byte) (int, error) { return c.body.Write(b) }
