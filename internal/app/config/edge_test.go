package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// Each setting gets a password in each form that it can have.
func TestEdgeNoPasswordIsShown(t *testing.T) {
	t.Parallel()
	const planted = "pla/nted@s3cret"
	for _, form := range []string{"https://user:" + planted + "@host/v1", "https://" + planted + "@host",
		"https://host/v1?api_key=planted@s3cret", "postgres://host/db?user=u&password=planted@s3cret",
		"postgres://user:planted%40s3cret@host/db"} {
		var c Config
		v := reflect.ValueOf(&c).Elem()
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString(form)
			}
		}
		for _, s := range c.Settings() {
			if strings.Contains(s.Value, "s3cret") || strings.Contains(s.Value, "nted@") {
				t.Errorf("%s=%s is shown as %s", s.Name, form, s.Value)
			}
		}
	}
	for value, want := range map[string]string{"https://u:p@host/v1": "https://****@host/v1",
		"https://api.openai.com/v1": "https://api.openai.com/v1", "me@example.com": "me@example.com",
		"http://host/v1?api-version=1": "http://host/v1?api-version=1"} {
		if got := mask("", value); got != want {
			t.Errorf("%s is shown as %s", value, got)
		}
	}
}

func TestEdgeSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	names := Secrets()
	if len(names) < 8 {
		t.Fatalf("secrets: %v", names)
	}
	file := filepath.Join(t.TempDir(), "secret")
	testkit.Must(t, os.WriteFile(file, []byte("postgres://from@a/file\n"), 0o600))
	none := "CAIRN_CONFIG=" + write(t, "CAIRN_MODEL=m\n")
	for _, name := range names {
		c, err := Load([]string{none, name + "_FILE=" + file}, nil)
		testkit.Must(t, err)
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("env") == name && v.Field(i).String() != "postgres://from@a/file" {
				t.Errorf("%s is %q", name, v.Field(i))
			}
		}
		for _, bad := range [][]string{{name + "=x", name + "_FILE=" + file}, {name + "_FILE=" + file + "/none"},
			{name + "_FILE=" + write(t, "")}, {name + "_FILE=" + write(t, "two\nlines\n")}} {
			if _, err := Load(append(bad, none), nil); fault.CodeOf(err) != fault.Misconfigured ||
				!strings.Contains(err.Error(), name+"_FILE") || fault.From(err).Hint == "" {
				t.Errorf("%v: %v", bad, err)
			}
		}
	}
}

func TestEdgeTrustedProxiesAreChecked(t *testing.T) {
	t.Parallel()
	none := "CAIRN_CONFIG=" + write(t, "")
	if _, err := Load([]string{none, "CAIRN_TRUSTED_PROXIES=10.0.0.0/8,proxy"}, nil); fault.CodeOf(err) !=
		fault.Misconfigured || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("got %v", err)
	}
	c, err := Load([]string{none, "CAIRN_TRUSTED_PROXIES=10.1.2.3/8, ::1"}, nil)
	testkit.Must(t, err)
	if p, err := c.Proxies(); err != nil || len(p) != 2 || p[0].String() != "10.0.0.0/8" || p[1].Bits() != 128 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestEdgeARetentionIsADayOrMore(t *testing.T) {
	t.Parallel()
	none := "CAIRN_CONFIG=" + write(t, "")
	for _, bad := range []string{"CAIRN_RETENTION_CALLS=1h", "CAIRN_RETENTION_RUNS=23h", "CAIRN_RETENTION_OPLOG=-24h",
		"CAIRN_RETENTION_AUDIT=1s"} {
		name, _, _ := strings.Cut(bad, "=")
		_, err := Load([]string{none, bad}, nil)
		if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(err.Error(), name) ||
			fault.From(err).Hint == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Load([]string{none, "CAIRN_RETENTION_CALLS=24h", "CAIRN_RETENTION_RUNS=0"}, nil); err != nil {
		t.Error(err)
	}
}

func TestEdgeSecretsAreReadAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	testkit.Must(t, os.WriteFile(file, []byte("first\n"), 0o600))
	none := "CAIRN_CONFIG=" + write(t, "CAIRN_MODEL=m\n")
	c, err := Load([]string{none, "OPENAI_API_KEY_FILE=" + file, "CAIRN_EMBEDDING_API_KEY=direct"}, nil)
	testkit.Must(t, err)
	if c.Reread("DATABASE_URL") != nil || c.Reread("CAIRN_EMBEDDING_API_KEY", "OPENAI_API_KEY") != nil {
		t.Error("a secret that is not in a file can be read again")
	}
	for _, names := range [][]string{{"OPENAI_API_KEY"}, {"CAIRN_EMBEDDING_PREVIOUS_API_KEY", "OPENAI_API_KEY"}} {
		read := c.Reread(names...)
		for _, want := range []string{"first", "second"} {
			testkit.Must(t, os.WriteFile(file, []byte(want+"\n"), 0o600))
			if got, err := read(); err != nil || got != want {
				t.Errorf("%v: %q, %v", names, got, err)
			}
		}
		testkit.Must(t, os.WriteFile(file, nil, 0o600))
		if _, err := read(); fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("an empty file: %v", err)
		}
	}
	for _, s := range c.Settings() {
		if s.Name == "" || strings.Contains(s.Value, file) {
			t.Errorf("setting %+v", s)
		}
	}
}
