package objectstore

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/osstest"
	"cairn/internal/testkit"
)

// odd are keys that are difficult for URLs, signatures or both.
var odd = []string{"a b/c d.zip", "a+b", "50%", "a%20b", "%2F", "什么/技能 包.zip", "what?x=1&acl", "?first", "#frag#2",
	"a;b=c,d:e@f!$'()*", "~tilde_-.", `quo"te<>`, "é", "e\u0301", "😀"}

func TestOSSKeepsObjectsUnderOddKeys(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v4"} {
		store, server := setupOSS(t, func(c *OSSConfig) { c.Signature = version })
		for _, key := range odd {
			if err := store.Put(t.Context(), key, []byte("of "+key)); err != nil {
				t.Errorf("%s, put %q: %v", version, key, err)
			}
			if got, err := store.Get(t.Context(), key); err != nil || string(got) != "of "+key {
				t.Errorf("%s, get %q: got %q, %v", version, key, got, err)
			}
			if found, err := store.Exists(t.Context(), key); err != nil || !found {
				t.Errorf("%s, exists %q: %v, %v", version, key, found, err)
			}
			signed, err := store.Sign(t.Context(), key, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if status, body := download(t, signed); status != http.StatusOK || body != "of "+key {
				t.Errorf("%s, signed URL of %q: %d %q\n%s", version, key, status, body, signed)
			}
			if server.Objects()["skill_memory/"+key] != "of "+key {
				t.Errorf("%s, %q is not kept under its name and prefix", version, key)
			}
		}
		for _, key := range odd {
			if err := store.Delete(t.Context(), key); err != nil {
				t.Errorf("%s, delete %q: %v", version, key, err)
			}
		}
		if left := server.Objects(); len(left) != 0 {
			t.Errorf("%s left: %q", version, left)
		}
	}
}

func TestOSSListsAFolder(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v4"} {
		store, _ := setupOSS(t, func(c *OSSConfig) { c.Signature = version })
		var want []string
		for i := range 8 { // several pages of the server
			want = append(want, fmt.Sprintf("erased/%d a+b.json", i))
		}
		for _, key := range append([]string{"erased/deeper/x", "erased2/x", "other"}, want...) {
			testkit.Must(t, store.Put(t.Context(), key, []byte("x")))
		}
		if got, err := store.List(t.Context(), "erased"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", version, got, err)
		}
		if got, err := store.List(t.Context(), "nothing"); err != nil || len(got) != 0 {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

func TestOSSReachesTheBucketAsAHost(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v4"} {
		server := osstest.New(t)
		c := ossConfig(server)
		c.Endpoint, c.Region, c.Signature = "http://oss-cn-shanghai.aliyuncs.com", "", version
		store, err := openOSS(c, toServer(server))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), "a b/回滚.zip", []byte("x")); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if got, want := store.Locate("a b/回滚.zip"),
			"https://cairn-test.oss-cn-shanghai.aliyuncs.com/skill_memory/a%20b/%E5%9B%9E%E6%BB%9A.zip"; got != want {
			t.Errorf("located at %s, want %s", got, want)
		}
	}
}

func TestOSSObjectsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	store, server := setupOSS(t, nil)
	server.Store("skill_memory/foreign", []byte("first"))
	for _, key := range []string{"own", "foreign", "empty"} {
		first := "first"
		if key == "empty" {
			first = ""
		}
		for _, step := range []struct {
			data string
			want fault.Code
		}{{first, ""}, {first, ""}, {"other", fault.AlreadyExists}, {"longer than the first", fault.AlreadyExists}} {
			if err := store.Put(t.Context(), key, []byte(step.data)); fault.CodeOf(err) != step.want {
				t.Errorf("put %q into %s: got %v, want %q", step.data, key, err, step.want)
			}
		}
		if got := server.Objects()["skill_memory/"+key]; got != first {
			t.Errorf("%s now holds %q", key, got)
		}
	}
}

func TestOSSRefusesHostileKeysAndLives(t *testing.T) {
	t.Parallel()
	store, server := setupOSS(t, nil)
	for _, key := range []string{"", "../x", "/abs", "a//b", `a\b`, "a\nb", strings.Repeat("x/", 505) + "xxxx"} {
		_, read := store.Get(t.Context(), key)
		_, signed := store.Sign(t.Context(), key, time.Minute)
		for _, err := range []error{store.Put(t.Context(), key, nil), read, store.Delete(t.Context(), key), signed} {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("%q: got %v", key, err)
			}
		}
		if place := store.Locate(key); place != "" {
			t.Errorf("%q is located at %s", key, place)
		}
	}
	for _, ttl := range []time.Duration{0, -time.Second, time.Second - 1, longestSigned + 1} {
		if _, err := store.Sign(t.Context(), "a", ttl); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("signed for %s: %v", ttl, err)
		}
	}
	if asked := made(server); asked != "" {
		t.Errorf("requests: %s", asked)
	}
}

func TestOSSSignedURLsExpireAndCannotBeChanged(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v4"} {
		store, server := setupOSS(t, func(c *OSSConfig) { c.Signature, c.SessionToken = version, "a token/+=" })
		for _, key := range []string{"a", "b"} {
			if err := store.Put(t.Context(), key, []byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		signed, err := store.Sign(t.Context(), "a", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		server.Advance(59 * time.Minute)
		if status, body := download(t, signed); status != http.StatusOK || body != "a" {
			t.Errorf("%s: got %d %q", version, status, body)
		}
		for _, forged := range []string{strings.Replace(signed, "a?", "b?", 1), signed + "0", store.Locate("a")} {
			if status, _ := download(t, forged); status != http.StatusForbidden {
				t.Errorf("%s: %s gave %d", version, forged, status)
			}
		}
		server.Advance(2 * time.Minute)
		if status, _ := download(t, signed); status != http.StatusForbidden {
			t.Errorf("%s: after its time got %d", version, status)
		}
	}
}

func TestOSSConfigNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	whole := OSSConfig{Endpoint: "oss-cn-shanghai-internal.aliyuncs.com", Bucket: "skills", AccessKeyID: "id",
		AccessKeySecret: "secret"}
	if store, err := OSS(whole); err != nil ||
		store.Locate("k") != "https://skills.oss-cn-shanghai-internal.aliyuncs.com/k" {
		t.Errorf("got %v, %v", store, err)
	}
	for want, change := range map[string]func(*OSSConfig){
		"OSS_ENDPOINT, OSS_REGION, OSS_BUCKET_NAME, OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET": func(c *OSSConfig) {
			*c = OSSConfig{}
		},
		"missing OSS settings: OSS_ACCESS_KEY_SECRET": func(c *OSSConfig) {
			c.AccessKeySecret = " "
		},
		"missing OSS settings: OSS_REGION": func(c *OSSConfig) {
			c.Endpoint = "oss.example.org"
		},
		`invalid OSS_SIGNATURE_VERSION "v2"`: func(c *OSSConfig) {
			c.Signature = "v2"
		},
		"invalid OSS_BUCKET_NAME": func(c *OSSConfig) {
			c.Bucket = "No_Bucket"
		},
		"OSS_ENDPOINT already contains the bucket": func(c *OSSConfig) {
			c.Endpoint = "skills.oss-cn-shanghai.aliyuncs.com"
			c.Region = "x"
		},
		"OSS_ENDPOINT is not a host name": func(c *OSSConfig) {
			c.Endpoint = "ftp://oss-cn-shanghai.aliyuncs.com"
			c.Region = "x"
		},
		"SKILLS_OSS_DIR": func(c *OSSConfig) {
			c.Dir = "../up"
		},
	} {
		c := whole
		change(&c)
		_, err := OSS(c)
		if err == nil || !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.Misconfigured ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	whole.Endpoint, whole.Signature = "http://oss.example.org", "v1"
	if _, err := OSS(whole); err != nil {
		t.Errorf("V1 needs no region: %v", err)
	}
}
