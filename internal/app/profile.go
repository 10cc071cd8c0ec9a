package app

import (
	"errors"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/search"
)

// searchProfile reads the parameters of searches from a YAML file, none for an empty path.
// Unknown parameters and values out of range are errors.
func searchProfile(path string) (p search.Profile, err error) {
	if path == "" {
		return p, nil
	}
	const hint = "correct CAIRN_SEARCH_PROFILE; docs/reference/settings.md lists the parameters under search"
	file, err := os.Open(path)
	if err != nil {
		return p, fault.Wrap(err, fault.Misconfigured, "open the search profile", hint)
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		return p, fault.Wrap(err, fault.Misconfigured, "invalid search profile "+path, hint)
	}
	if err := p.Validate(); err != nil {
		return p, fault.Wrap(err, fault.Misconfigured, "invalid search profile "+path, hint)
	}
	return p, nil
}
