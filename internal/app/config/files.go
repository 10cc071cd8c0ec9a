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

// readSecrets sets the secrets whose files are named. The end of the line is not part of a secret.
func readSecrets(values map[string]string) error {
	for _, name := range Secrets() {
		path := values[name+fileSuffix]
		if path == "" {
			continue
		}
		if values[name] != "" {
			return fault.New(fault.Misconfigured, fmt.Sprintf("both %s and %s are set", name, name+fileSuffix),
				"remove one of them")
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return fault.Wrap(err, fault.Misconfigured, "cannot read the file of "+name+fileSuffix,
				"name a file that this process can read, or set "+name+" instead")
		}
		secret := strings.TrimRight(string(raw), "\r\n")
		if strings.TrimSpace(secret) == "" || strings.ContainsAny(secret, "\r\n\x00") {
			return fault.New(fault.Misconfigured, fmt.Sprintf("the file of %s does not hold one line", name+fileSuffix),
				"write the secret into one line of the file")
		}
		values[name] = secret
	}
	return nil
}
