package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed *.css *.js *.svg
var staticFiles embed.FS

var versions = hashes()

func hashes() map[string]string {
	out := map[string]string{}
	entries, err := staticFiles.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		content, err := staticFiles.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		out[e.Name()] = hex.EncodeToString(sum[:6])
	}
	return out
}

// staticVersion returns the version of a file: a hash of its content.
func staticVersion(file string) string { return versions[file] }

// serveStatic writes a file and returns false if there is none. Browsers keep it, because its address has its version.
func serveStatic(w http.ResponseWriter, name string) bool {
	content, err := staticFiles.ReadFile(name)
	if err != nil {
		return false
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
	return true
}
