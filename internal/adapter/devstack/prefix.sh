#!/bin/sh
# prefix.sh FOLDER SUITE WHAT [CHECK]
#
# Unpacks a PostgreSQL with pgvector (WHAT is its major version), PgBouncer (WHAT is pgbouncer) or pip (WHAT is pip)
# from Debian's packages into one relocatable folder. It runs as any user on any Linux that has apt. The C
# library and the loader are included, and the system is not changed. With CHECK it only reports
# whether this machine can do it.
#
#   DEBIAN_MIRROR   address of a Debian archive; default: the one in this machine's apt sources
#   DEBIAN_KEYRING  public keys of SUITE; default: the installed ones
set -eu
umask 022
folder=$1 suite=$2 what=$3 check=${4:-}
keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}

fail() { echo "$*" >&2; exit 1; }

# ── prerequisites ──────────────────────────────────────────────────────────────
for tool in apt-get dpkg-deb awk; do
	command -v $tool >/dev/null || fail "$tool is not installed"
done
[ -r "$keyring" ] || fail "Debian's public keys are not in $keyring; set DEBIAN_KEYRING"

configured() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E "$1" | sort -u | head -n 1; }
mirror=${DEBIAN_MIRROR:-$(configured '/debian/?$')} || true
[ -n "$mirror" ] || fail "no Debian archive in this machine's apt sources; set DEBIAN_MIRROR"
security=
[ -n "${DEBIAN_MIRROR:-}" ] || security=$(configured '/debian-security/?$') || true
: "${security:=${mirror%/debian*}/debian-security}"
[ -z "$check" ] || exit 0

# ── a private apt with an empty system, so that the list of dependencies is complete ──
apt=$folder/apt packages=$folder/packages
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$packages"
: >"$apt/status"
cat >"$apt/sources.list" <<END
deb [signed-by=$keyring] $mirror $suite main
deb [signed-by=$keyring] $security $suite-security main
END
# The hooks of Docker images would delete the machine's own package lists.
cat >"$apt/apt.conf" <<END
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear APT::Default-Release;
#clear APT::Architectures;
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Log "$apt";
APT::Sandbox::User "";
APT::Install-Recommends "0";
APT::Install-Suggests "0";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::Retries "3";
Debug::NoLocking "1";
END
private() { apt-get -c="$apt/apt.conf" -q=2 "$@"; }

private update

# Only what the programs load: no llvm (see below), perl, debconf or login.
spare='^(lib(llvm|z3|perl|semanage|sepol|db5|debconf|text-|json-|ipc-|io-|proc2|ncursesw|gdbm|attr1|acl1|bz2|ffi|c-l10n)|libpam-)'
case $what in
pip)
	wanted=python3-pip needed='^(python3|lib|zlib1g|gcc-[0-9]+-base|media-types)' home=$folder/usr programs=bin shown=python3
	spare='^(libdebconf|libtext-|libperl|libpam-)'
	;;
pgbouncer)
	wanted=pgbouncer needed='^(pgbouncer$|lib|zlib1g|gcc-[0-9]+-base)' home=$folder/usr programs=sbin shown=pgbouncer
	;;
*)
	wanted="postgresql-$what postgresql-client-$what postgresql-$what-pgvector"
	needed='^(postgresql-(client-)?[0-9]|lib|zlib1g|gcc-[0-9]+-base|tzdata|readline-common)'
	home=$folder/usr/lib/postgresql/$what programs=bin shown=postgres
	;;
esac
chosen=$(private install -s $wanted | awk '/^Inst / {print $2}' | grep -E "$needed" | grep -vE "$spare")
(cd "$packages" && private download $chosen)
for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$packages" "$apt"

# ── trim ──────────────────────────────────────────────────────────────────────
# Without LLVM, llvmjit.so fails every expensive query, so it is removed.
rm -rf "$home"/lib/bitcode "$home"/lib/llvmjit* "$folder"/usr/share/doc "$folder"/usr/share/man \
	"$folder"/usr/share/locale "$folder"/usr/share/lintian "$folder"/usr/share/bug \
	"$folder"/usr/lib/*/gconv "$folder"/var "$folder"/etc/init.d "$folder"/etc/cron*

# ── each program becomes a script that runs it with the included loader ──
# --argv0 lets the program find its libraries and share folder relative to its own path.
mkdir "$home/elf"
for program in "$home/$programs"/*; do
	[ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
	mv "$program" "$home/elf/"
	cat >"$program" <<'END'
#!/bin/sh
bin=${0%/*} name=${0##*/}
case $bin in /*) ;; *) bin=$(cd "$bin" && pwd) ;; esac
root=${bin%/usr/*}
for libraries in "$root"/usr/lib/*-linux-gnu*; do
	for loader in "$libraries"/ld-linux*.so.*; do [ -x "$loader" ] && break 2; done
done
export LOCPATH="$root/usr/lib/locale"
exec "$loader" --library-path "$libraries" --argv0 "$bin/$name" "${bin%/*}/elf/$name" "$@"
END
	chmod 755 "$program"
done
"$home/$programs/$shown" -V
