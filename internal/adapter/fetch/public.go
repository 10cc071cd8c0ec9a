package fetch

import "net/netip"

// nonPublic are the IPv4 ranges that are not part of the public internet: IANA's special-purpose
// registry (RFC 6890 and later), and one metadata service that has a public address.
var nonPublic = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers; 100.100.100.200 is Alibaba Cloud's metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's metadata
	"169.254.0.0/16",   // link-local; 169.254.169.254 is most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // IETF protocols
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

// For IPv6 only this block is assigned to the public internet.
var global = netip.MustParsePrefix("2000::/3")

// reservedGlobal are the parts of it that are not public.
var reservedGlobal = prefixes(
	"2001::/23",     // IETF protocols; Teredo, which wraps IPv4
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which wraps IPv4
	"3fff::/20",     // documentation
)

// translated embeds IPv4 addresses in IPv6-only networks (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// public reports whether an address belongs to the public internet.
func public(address netip.Addr) bool {
	if address.Zone() != "" {
		return false
	}
	address = address.Unmap()
	if translated.Contains(address) {
		wrapped := address.As16()
		address = netip.AddrFrom4([4]byte(wrapped[12:]))
	}
	if address.Is4() {
		return !contains(nonPublic, address)
	}
	return global.Contains(address) && !contains(reservedGlobal, address)
}

func contains(list []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(list))
	for i, text := range list {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}
