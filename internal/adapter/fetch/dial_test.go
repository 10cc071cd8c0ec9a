package fetch

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func TestGetRefusesAddressesInside(t *testing.T) {
	t.Parallel()
	s := serve(t, false, text("secret"))
	hosts := []string{"127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "169.254.169.254", "100.100.100.200",
		"10.1.2.3", "172.16.0.1", "192.168.1.1",
		"224.0.0.1", "fe80::1", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2130706433", "0x7f.1",
		"inside.example", "mixed.example"}
	// as C libraries parse numbers
	o := Options{AllowHTTP: true, Resolver: names{"localhost": {"127.0.0.1"}, "2130706433": {"127.0.0.1"},
		"0x7f.1":         {"127.0.0.1"},
		"inside.example": {"10.0.0.7"}, "mixed.example": {"93.184.216.34", "::1"}}}
	for _, host := range hosts {
		_, err := Get(t.Context(), s.at(t, host), o)
		if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: got %v", host, err)
		}
		if strings.Contains(err.Error(), "10.0.0.7") {
			t.Errorf("%s: an internal address was disclosed: %v", host, err)
		}
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if _, err := Get(t.Context(), "http://nowhere.example", o); fault.CodeOf(err) != fault.InvalidArgument ||
		!strings.Contains(err.Error(), "host not found") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestGetRefusesRedirectsInside(t *testing.T) {
	t.Parallel()
	inside := serve(t, false, text("secret"))
	for name, target := range map[string]string{
		"loopback":    inside.URL,
		"IPv6":        inside.at(t, "::1"),
		"metadata":    "http://169.254.169.254/latest/meta-data/",
		"private":     "http://10.0.0.1/",
		"by name":     inside.at(t, "rebound.example"),
		"other port":  inside.at(t, "trusted.example"),
		"file":        "file:///etc/passwd",
		"credentials": strings.Replace(inside.URL, "http://", "http://user:pass@", 1),
	} {
		hop := serve(t, false, redirectTo(target))
		first := serve(t, false, redirectTo(hop.URL)) // also on a later hop
		o := trusting(first, hop)
		o.Resolver = names{"rebound.example": {"127.0.0.1"}, "trusted.example": {"127.0.0.1"}}
		if got, err := Get(t.Context(), first.URL, o); fault.CodeOf(err) != fault.InvalidArgument || got != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if hop.connections.Load() != 1 {
			t.Errorf("%s: the redirect itself was not reached", name)
		}
	}
	if n := inside.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	plain := serve(t, true, redirectTo("http://example.com/"))
	o := trusting(plain)
	o.AllowHTTP = false
	if _, err := Get(t.Context(), plain.URL, o); fault.CodeOf(err) != fault.InvalidArgument ||
		!strings.Contains(err.Error(), `"http"`) {
		t.Errorf("from https to http: %v", err)
	}
}

// The socket's own check also applies if the earlier check accepted the address.
func TestTheSocketJudgesAgain(t *testing.T) {
	t.Parallel()
	for reached, want := range map[string]fault.Code{"127.0.0.1:80": fault.InvalidArgument,
		"[::1]:443": fault.InvalidArgument, "[::ffff:10.0.0.1]:80": fault.InvalidArgument,
		"nonsense": fault.InvalidArgument, "93.184.216.34:443": "", "[2606:2800:220:1::1]:443": ""} {
		if err := (Options{}).control("host", reached); fault.CodeOf(err) != want {
			t.Errorf("%s: got %v", reached, err)
		}
	}
	if (Options{}).transport().Proxy != nil {
		t.Error("a proxy would connect unguarded")
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxy := serve(t, false, text("by proxy"))
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	direct := serve(t, false, text("direct"))
	o := trusting(direct, proxy)
	o.Resolver = names{"direct.example": {"127.0.0.1"}}
	if got, err := Get(t.Context(), direct.at(t, "direct.example"), o); err != nil || string(got) != "direct" ||
		proxy.connections.Load() != 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnAddressThatFailsIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	o := trusting(s)
	// no server listens there
	o.Trusted = append(o.Trusted, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), s.address().Port()))
	o.Resolver = names{"both.example": {"127.0.0.2", "127.0.0.1"}}
	if _, err := Get(t.Context(), s.at(t, "both.example"), o); err != nil {
		t.Error(err)
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool]string{
		true: "1.1.1.1 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 " +
			"172.15.255.255 172.32.0.0 192.167.255.255 223.255.255.255 " +
			"2606:4700::1111 2a00:1450::1 2400:3200::1 ::ffff:1.1.1.1 64:ff9b::101:101",
		false: "0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 " +
			"168.63.129.16 169.254.0.1 172.16.0.0 172.31.255.255 192.0.0.8 192.0.2.1 " +
			"192.88.99.1 192.168.0.0 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 " +
			"240.0.0.1 255.255.255.255 " +
			":: ::1 ::7f00:1 ::ffff:0:0 ::ffff:127.0.0.1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::1 " +
			"100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 " +
			"2606:4700::1%eth0 fec0::1 ff02::1 4000::1",
	} {
		for text := range strings.FieldsSeq(list) {
			if got := public(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s: public %v", text, got)
			}
		}
	}
}
