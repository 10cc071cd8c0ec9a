package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"

	"cairn/internal/app/buildinfo"
	"cairn/internal/domain/fault"
)

// Load reads and validates the configuration. The environment has the form of os.Environ. Overrides
// are values of flags, by the name of their environment variable.
func Load(environ []string, overrides map[string]string) (Config, error) {
	values := env.ToMap(environ)
	path, named := values["CAIRN_CONFIG"]
	if path == "" {
		path = File
	}
	file, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		err = nil
	}
	if err != nil {
		return Config{}, err
	}
	all := map[string]string{}
	if buildinfo.Packaged() {
		all["CAIRN_HOME"] = userFolder(values)
	}
	for _, layer := range []map[string]string{file, values, overrides} {
		maps.Copy(all, layer)
	}
	if err := resolveAliases(all); err != nil {
		return Config{}, err
	}
	files, err := readSecrets(all)
	if err != nil {
		return Config{}, err
	}
	c := Config{files: files}
	if err := env.ParseWithOptions(&c, env.Options{Environment: all,
		FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[bool](): parseSwitch}}); err != nil {
		return Config{}, fault.Wrap(err, fault.Misconfigured, "invalid configuration",
			"correct the named variable; docs/reference/config.md lists all variables with their defaults")
	}
	return c, c.validate()
}

// userFolder is where a program of a package keeps its data: a folder of the user, as the XDG Base Directory
// Specification names it. Without a home folder it is the default of a clone.
func userFolder(environ map[string]string) string {
	if data := environ["XDG_DATA_HOME"]; filepath.IsAbs(data) {
		return filepath.Join(data, "cairn")
	}
	if home := environ["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".local/share/cairn")
	}
	return ".cairn"
}

// parseSwitch parses a switch: on, off, or a value that strconv.ParseBool accepts.
func parseSwitch(value string) (any, error) {
	switch strings.ToLower(value) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return strconv.ParseBool(value)
}

func readFile(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	out := map[string]string{}
	for i, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("%s, line %d: missing NAME=value", path, i+1),
				"write one variable per line, such as CAIRN_MODEL=gpt-4o-mini")
		}
		out[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return out, nil
}
