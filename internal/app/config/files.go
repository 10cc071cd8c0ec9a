package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"cairn/internal/domain/fault"
)

// fileSuffix marks a variable that names the file of a secret, such as OPENAI_API_KEY_FILE.
const fileSuffix = "_FILE"

// Secrets lists the variables that can be read from files.
func Secrets() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if f.Tag.Get("secret") != "" {
			names = append(names, f.Tag.Get("env"))
		}
	}
	return names
}

// readSecrets sets the secrets whose files are named, and returns the files by the names of the secrets.
func readSecrets(values map[string]string) (files map[string]string, err error) {
	files = map[string]string{}
	for _, name := range Secrets() {
		path := values[name+fileSuffix]
		if path == "" {
			continue
		}
		if values[name] != "" {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("both %s and %s are set", name, name+fileSuffix),
				"remove one of them")
		}
		if values[name], err = readSecret(name, path); err != nil {
			return nil, err
		}
		files[name] = path
	}
	return files, nil
}

// readSecret reads a secret from its file. The end of the line is not part of it.
func readSecret(name, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fault.Wrap(err, fault.Misconfigured, "cannot read the file of "+name+fileSuffix,
			"name a file that this process can read, or set "+name+" instead")
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	if strings.TrimSpace(secret) == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fault.New(fault.Misconfigured, fmt.Sprintf("the file of %s does not hold one line", name+fileSuffix),
			"write the secret into one line of the file")
	}
	return secret, nil
}

// Reread returns a function that reads a secret from its file again, or nil if it is not in a file. For
// several names, it is that of the first secret that is set: the others are fallbacks.
func (c Config) Reread(names ...string) func() (string, error) {
	v := reflect.ValueOf(c)
	for _, name := range names {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("env") != name || v.Field(i).String() == "" {
				continue
			}
			path := c.files[name]
			if path == "" {
				return nil
			}
			return func() (string, error) { return readSecret(name, path) }
		}
	}
	return nil
}
