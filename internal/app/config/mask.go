package config

import "net/url"

// Redacted returns a database URL without its password.
func Redacted(databaseURL string) string { return mask("url", databaseURL) }

// mask hides a value of the kind "all", or the password in a value of the kind "url".
func mask(kind, value string) string {
	if value == "" {
		return value
	}
	switch kind {
	case "all":
		return "****"
	case "url":
		u, err := url.Parse(value)
		if err != nil || u.Scheme == "" { // key=value form: the password can be anywhere
			return "****"
		}
		return u.Redacted()
	}
	return value
}
