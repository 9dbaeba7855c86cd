# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by run and test. install_packages LIST...: installs the Debian packages named in the files that are missing.

# The packages named in the files that are not installed, one a line.
missing_packages() {
  local wanted installed
  wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u)
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
    sed -n 's/ installed$//p' | sort -u || true)
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

install_packages() {
  local missing log
  if ! command -v dpkg-query >/dev/null; then
    echo "comity: this is not Debian; see ${1##*/} for what the build needs" >&2
    return 0
  fi
  missing=$(missing_packages "$@" | tr '\n' ' ')
  missing=${missing% }
  [[ -z $missing ]] && return 0
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      echo "comity: these Debian packages are missing and need root to install:" >&2
      echo "  apt-get install $missing" >&2
      return 1
    fi
  fi
  echo "comity: installing $missing" >&2
  log=$(mktemp)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update >"$log" 2>&1 </dev/null || true
  # shellcheck disable=SC2086
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
      install --no-install-recommends $missing >>"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    echo "comity: installing packages failed; the list is above" >&2
    return 1
  fi
  rm -f "$log"
}
