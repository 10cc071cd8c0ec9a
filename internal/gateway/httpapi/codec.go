package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// CodecPath is where Temporal's programs have payloads encrypted and decrypted:
// the endpoint that they are given. It is served where there are keys for it.
const CodecPath = "/codec"

// codecRoutes serve the remote codec of Temporal's UI and command line. They are
// for operators, so they stand beside /metrics, outside of the API's description.
func (g *Gateway) codecRoutes() {
	if g.Codec == nil {
		return
	}
	c := &codec{Gateway: g, convert: g.Codec, ui: originOf(g.Options.TemporalUI)}
	for _, does := range []string{"/encode", "/decode"} {
		g.mux.HandleFunc("POST "+CodecPath+does, c.serve)
		g.mux.HandleFunc("OPTIONS "+CodecPath+does, c.preflight)
	}
	g.mux.HandleFunc("GET "+CodecPath+"/{$}", c.signIn)
}

type codec struct {
	*Gateway
	convert http.Handler
	ui      *url.URL // origin of Temporal UI; nil when nobody has said where it is
}

// serve converts the payloads of one request. An operator's key comes as a bearer
// token, or as the password that a browser keeps after signIn. Such requests take no
// share of the key's rate: the UI sends one for each payload that it shows.
func (c *codec) serve(w http.ResponseWriter, r *http.Request) {
	if refused := c.admitOrigin(w, r); refused != nil {
		refused.write(w)
		return
	}
	if refused := c.operator(r); refused != nil {
		refused.write(w)
		return
	}
	done := &converted{header: http.Header{}}
	if c.convert.ServeHTTP(done, r); done.status != 0 && done.status != http.StatusOK {
		problem(fault.InvalidArgument, strings.TrimSpace(done.body.String()), "send payloads as Temporal's programs "+
			"do; what an older key encrypted needs that key in CAIRN_PAYLOAD_KEYS").write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(done.body.Bytes()) // who does not read it has gone
}

// preflight answers a browser that asks whether the UI may send a request.
func (c *codec) preflight(w http.ResponseWriter, r *http.Request) {
	if refused := c.admitOrigin(w, r); refused != nil {
		refused.write(w)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// signIn has a browser ask for a key, which it then sends with what Temporal UI asks
// for: the UI has no other way to hold one unless people sign in to it, too.
func (c *codec) signIn(w http.ResponseWriter, r *http.Request) {
	if refused := c.operator(r); refused != nil {
		refused.with("WWW-Authenticate", `Basic realm="cairn: any name, and an admin key as the password", `+
			`charset="UTF-8"`).write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "Signed in. Temporal UI can decrypt now: in its data encoder settings, the endpoint is this "+
		"address without the last slash,\nand cross-origin credentials are included.")
}

// operator lets through whose key has the scope admin.
func (c *codec) operator(r *http.Request) *Problem {
	if _, key, basic := r.BasicAuth(); basic {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+key)
	}
	h, refused := c.authenticate(r)
	if refused == nil && !apikey.Admin.Allows(h.Scopes) {
		refused = outOfScope(apikey.Admin, h)
	}
	return refused
}

// admitOrigin lets the page of Temporal UI read the answer, and refuses other pages:
// a browser would send its password for them, too. Programs have no origin.
func (c *codec) admitOrigin(w http.ResponseWriter, r *http.Request) *Problem {
	w.Header().Add("Vary", "Origin")
	from := r.Header.Get("Origin")
	if from == "" {
		return nil
	}
	if !sameOrigin(originOf(from), c.ui) {
		return problem(fault.OutOfScope, "pages of "+from+" may not decrypt",
			"set TEMPORAL_UI_URL to where people open Temporal UI")
	}
	w.Header().Set("Access-Control-Allow-Origin", from)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	return nil
}

// originOf is the origin of a web address, nil when it has none.
func originOf(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil
	}
	return &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host)}
}

// sameOrigin compares origins. This machine has several names, and the UI is opened
// under any of them.
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

// converted keeps the converter's answer, whose refusals are plain text.
type converted struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *converted) Header() http.Header         { return c.header }
func (c *converted) WriteHeader(status int)      { c.status = status }
func (c *converted) Write(b []byte) (int, error) { return c.body.Write(b) }
