package config

import (
	"net/url"
	"regexp"
	"strings"
)

// Redacted returns a database URL without its password.
func Redacted(databaseURL string) string { return mask("url", databaseURL) }

// hidden replaces secrets.
const hidden = "****"

// mask hides a value of the kind "all", the password in a value of the kind "url", and the user
// information and secret parameters of a URL in any other value.
func mask(kind, value string) string {
	if value == "" {
		return value
	}
	switch kind {
	case "all":
		return hidden
	case "url":
		value = maskParameters(value)
		u, err := url.Parse(value)
		if err != nil || u.Scheme == "" || u.Host == "" || // key=value form: the password can be anywhere
			u.User == nil && strings.Contains(value, "@") { // a password with a slash
			return hidden
		}
		return u.Redacted()
	}
	return maskUser(maskParameters(value))
}

// maskUser hides the user information of a URL. A password may contain any character, so everything
// between the scheme and the last @ is hidden.
func maskUser(value string) string {
	scheme, rest, found := strings.Cut(value, "://")
	at := strings.LastIndex(rest, "@")
	if !found || at < 0 {
		return value
	}
	return scheme + "://" + hidden + rest[at:]
}

var secretParameter = regexp.MustCompile(`(?i)([?&][^=&]*(?:pass|secret|token|key|sig)[^=&]*=)[^&#\s]+`)

func maskParameters(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	return secretParameter.ReplaceAllString(value, "${1}"+hidden)
}
