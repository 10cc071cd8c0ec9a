package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Models returns the names of CAIRN_API_MODELS.
func (c Config) Models() []string { return list(c.APIModels) }

// TakesImages reports whether CAIRN_IMAGE_MODELS names a model.
func (c Config) TakesImages(model string) bool {
	all := list(c.ImageModels)
	return slices.Contains(all, "*") || slices.Contains(all, model)
}

// Origins returns the origins of CAIRN_API_ORIGINS.
func (c Config) Origins() ([]string, error) {
	out := list(c.APIOrigins)
	for _, origin := range out {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("invalid CAIRN_API_ORIGINS: %q", origin),
				"use origins such as https://chat.example.org, separated by commas, or *")
		}
	}
	return out, nil
}

// list returns the items of a list with commas.
func list(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
