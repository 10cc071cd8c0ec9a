package config

import (
	"fmt"
	"net/netip"
	"strings"

	"cairn/internal/domain/fault"
)

// Proxies returns the networks of CAIRN_TRUSTED_PROXIES.
func (c Config) Proxies() (out []netip.Prefix, err error) {
	for item := range strings.SplitSeq(c.TrustedProxies, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		network, err := netip.ParsePrefix(item)
		if err != nil {
			var one netip.Addr
			if one, err = netip.ParseAddr(item); err == nil {
				network = netip.PrefixFrom(one, one.BitLen())
			}
		}
		if err != nil {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("invalid CAIRN_TRUSTED_PROXIES: %q", item),
				"use addresses or networks separated by commas, such as 10.0.0.0/8,192.0.2.7")
		}
		out = append(out, network.Masked())
	}
	return out, nil
}
