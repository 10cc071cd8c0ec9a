package config

import "testing"

func TestAPackagedProgramKeepsDataInTheUsersFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"HOME": "/home/ann", "XDG_DATA_HOME": "/data/ann"}, "/data/ann/cairn"},
		{map[string]string{"HOME": "/home/ann"}, "/home/ann/.local/share/cairn"},
		{map[string]string{"HOME": "/home/ann", "XDG_DATA_HOME": "relative"}, "/home/ann/.local/share/cairn"},
		{map[string]string{}, ".cairn"},
	} {
		if got := userFolder(c.environ); got != c.want {
			t.Errorf("%v: %s, want %s", c.environ, got, c.want)
		}
	}
}
