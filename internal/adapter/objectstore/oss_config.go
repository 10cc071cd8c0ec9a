package objectstore

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aliyun/aliyun-oss-go-sdk/oss"

	"cairn/internal/domain/fault"
)

// OSSConfig configures a bucket. The comments name the environment variables.
type OSSConfig struct {
	// OSS_ENDPOINT, such as oss-cn-shanghai.aliyuncs.com; HTTPS unless it begins with http://
	Endpoint        string
	Region          string        // OSS_REGION, such as cn-shanghai; empty: the one that the endpoint names
	Bucket          string        // OSS_BUCKET_NAME
	AccessKeyID     string        // OSS_ACCESS_KEY_ID
	AccessKeySecret string        // OSS_ACCESS_KEY_SECRET
	SessionToken    string        // OSS_SESSION_TOKEN, only with temporary credentials
	Dir             string        // SKILLS_OSS_DIR, prefix of every key; empty: none
	Signature       string        // OSS_SIGNATURE_VERSION: v4 (default), or v1, which OSS is phasing out
	Timeout         time.Duration // of one request, including the body; 0: a minute
}

const ossTimeout = time.Minute

// place is a validated configuration.
type place struct {
	endpoint string // with its scheme, because the SDK uses HTTP without one
	region   string
	prefix   string
	base     string
	auth     oss.AuthVersionType
	timeout  time.Duration
}

func (c OSSConfig) place() (place, error) {
	p := place{region: c.Region, timeout: c.Timeout, auth: oss.AuthV4}
	switch strings.ToLower(c.Signature) {
	case "", "v4":
	case "v1":
		p.auth = oss.AuthV1
	default:
		return place{}, fault.New(fault.Misconfigured, "invalid OSS_SIGNATURE_VERSION "+strconv.Quote(c.Signature),
			"use v4 or v1")
	}
	if p.region == "" {
		p.region = namedRegion(c.Endpoint)
	}
	if p.timeout <= 0 {
		p.timeout = ossTimeout
	}
	if err := c.complete(p); err != nil {
		return place{}, err
	}
	if dir := strings.Trim(c.Dir, "/"); dir != "" {
		if err := CheckKey(dir); err != nil {
			return place{}, fault.Wrap(err, fault.Misconfigured, "invalid SKILLS_OSS_DIR",
				"use a folder such as skill_memory")
		}
		p.prefix = dir + "/"
	}
	endpoint := c.Endpoint
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Scheme != "http" && u.Scheme != "https" {
		return place{}, fault.New(fault.Misconfigured, "OSS_ENDPOINT is not a host name",
			"use one such as oss-cn-shanghai.aliyuncs.com")
	}
	if strings.HasPrefix(u.Host, c.Bucket+".") {
		return place{}, fault.New(fault.Misconfigured, "OSS_ENDPOINT already contains the bucket",
			"use the region's endpoint: "+strings.TrimPrefix(u.Host, c.Bucket+"."))
	}
	p.endpoint = u.Scheme + "://" + u.Host
	p.base = "https://" + c.Bucket + "." + u.Host + "/"
	if _, err := netip.ParseAddr(strings.Trim(hostOf(u), "[]")); err == nil { // an address has no subdomains
		p.base = p.endpoint + "/" + c.Bucket + "/"
	}
	return p, nil
}

// complete reports all missing settings at once.
func (c OSSConfig) complete(p place) error {
	var missing []string
	for _, setting := range []struct{ name, value string }{
		{"OSS_ENDPOINT", c.Endpoint}, {"OSS_REGION", p.region}, {"OSS_BUCKET_NAME", c.Bucket},
		{"OSS_ACCESS_KEY_ID", c.AccessKeyID}, {"OSS_ACCESS_KEY_SECRET", c.AccessKeySecret},
	} {
		if strings.TrimSpace(setting.value) == "" && (setting.name != "OSS_REGION" || p.auth == oss.AuthV4) {
			missing = append(missing, setting.name)
		}
	}
	if missing == nil {
		return nil
	}
	return fault.New(fault.Misconfigured, "missing OSS settings: "+strings.Join(missing, ", "),
		"set them, or SKILLS_REPO_BACKEND=LOCAL")
}

// publicEndpoint matches a region's endpoint, from outside or inside Alibaba Cloud.
var publicEndpoint = regexp.MustCompile(`^(?:https?://)?oss-([a-z0-9-]+?)(?:-internal)?\.aliyuncs\.com/?$`)

func namedRegion(endpoint string) string {
	if m := publicEndpoint.FindStringSubmatch(endpoint); m != nil {
		return m[1]
	}
	return ""
}

func hostOf(u *url.URL) string {
	if host, _, err := net.SplitHostPort(u.Host); err == nil {
		return host
	}
	return u.Host
}

// escapePath percent-encodes all characters except slashes and RFC 3986's unreserved characters.
func escapePath(name string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	return strings.ReplaceAll(escaped, "%2F", "/")
}
