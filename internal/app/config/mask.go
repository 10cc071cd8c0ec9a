package config

import "net/url"

// Redacted is a database's address without its password.
func Redacted(databaseURL string) string { return mask("url", databaseURL) }

// mask hides a secret, or the password inside a URL.
func mask(kind, value string) string {
	if value == "" {
		return value
	}
	switch kind {
	case "all":
		return "****"
	case "url":
		u, err := url.Parse(value)
		if err != nil || u.Scheme == "" { // key=value form: the password may be anywhere
			return "****"
		}
		return u.Redacted()
	}
	return value
}
