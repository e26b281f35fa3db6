"""Print what nginx needs to serve the lab: ``python deploy/proxy.py lab.example.org > /etc/nginx/conf.d/lab.conf``.

What it prints limits what one address may do. A class room often has one address for all, so the limits are a class
of 300 with a tab each (`--tabs`). It also sends the headers that Streamlit does not: see docs/security.md.

There are ``--processes N`` app servers on the ports from 8501 on (private-bandit-lab@1.service, ...). Streamlit
keeps what belongs to a visitor in the process that serves the tab, so a cookie says which one that is; it says nothing
else. A visitor whose process is gone is led to the next one. Classes lie in the cache folder that all processes
share.
"""

from __future__ import annotations

import argparse
import re

HEAD = """# Made by deploy/proxy.py: a file for /etc/nginx/conf.d/.
map $http_upgrade $lab_connection {{
    default upgrade;
    ''      close;
}}
# Limits for each address; beyond them the answer is 429.
limit_conn_zone $binary_remote_addr zone=lab_tabs:10m;
limit_conn_zone $binary_remote_addr zone=lab_sending:10m;
limit_req_zone $binary_remote_addr zone=lab_requests:10m rate={requests}r/s;
limit_req_zone $binary_remote_addr zone=lab_openings:10m rate=20r/s;
limit_req_zone $binary_remote_addr zone=lab_uploads:10m rate=1r/s;
limit_conn_status 429;
limit_req_status 429;
"""

# Without a certificate: certbot --nginx adds one, and the redirection to https.
PLAIN = "    listen {listen};"
TLS = """    listen {listen} ssl;
    ssl_certificate {folder}/fullchain.pem;
    ssl_certificate_key {folder}/privkey.pem;"""
TO_TLS = """
server {{
    listen 80;
    server_name {host};
    return 301 https://$host$request_uri;
}}
"""

# A visitor without a cookie gets any process; where a browser keeps no cookies, its address decides.
CHOICE = """
split_clients $request_id $lab_any {{
{any_process}
}}
split_clients $remote_addr$http_user_agent $lab_by_address {{
{any_process}
}}
map $cookie_lab $lab_of_cookie {{
    default $lab_by_address;
{cookies}
}}
map $cookie_lab $lab_page_cookie {{
    ~.      '';
    default $lab_any;
}}
map $upstream_addr $lab_served {{  # of a web socket: who was led to another process stays there
{served}
}}
map $lab_served:$cookie_lab $lab_socket_cookie {{
    ~^(\\d+):\\1$ '';
    ~^(\\d+):    $1;
}}
map $lab_page_cookie $lab_set_page {{
    ''      '';
    default "lab=$lab_page_cookie; Path=/; HttpOnly; SameSite=Lax";
}}
map $lab_socket_cookie $lab_set_socket {{
    ''      '';
    default "lab=$lab_socket_cookie; Path=/; HttpOnly; SameSite=Lax";
}}
"""

SERVER = """
server {{
{listen}
    server_name {host};
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;  # pictures come over a web socket
    proxy_set_header Connection $lab_connection;
    proxy_set_header Host $http_host;  # else the app refuses the socket as one of another site
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_read_timeout 1d;  # a reader may look at one picture for long
    proxy_buffering off;
    proxy_connect_timeout 2s;

    location / {{
        proxy_pass http://{upstream};
        limit_req zone=lab_requests burst={burst} nodelay;
{headers}{page_cookie}
    }}

    location /_stcore/stream {{
        proxy_pass http://{upstream};
        limit_conn lab_tabs {tabs};
        limit_req zone=lab_openings burst={tabs} nodelay;{socket_cookie}
    }}

    location /_stcore/upload_file/ {{
        proxy_pass http://{upstream};
        client_max_body_size 21m;  # a file of 20 MB, and what the browser puts around it
        limit_conn lab_sending 20;
        limit_req zone=lab_uploads burst=40 nodelay;
{headers}
    }}

    location = /_stcore/metrics {{
        deny all;  # Streamlit's statistics are no one's business
    }}
}}
"""
HEADERS = {  # written out in every place: nginx forgets those of the server where a place has one
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Content-Security-Policy": "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors {embed}",
}


def configuration(
    host: str,
    servers: list[str],
    listen: str = "",
    *,
    certificate: str = "",
    embed: str = "'self'",
    tabs: int = 400,
) -> str:
    """The whole file.

    Parameters
    ----------
    servers
        Where the processes of the app are: ``127.0.0.1:8501``.
    listen
        Where nginx listens: by default 443 with a certificate, else 80.
    certificate
        The folder with ``fullchain.pem`` and ``privkey.pem``; empty: no TLS.
    embed
        Who may show the lab in a frame, as in the header: ``'self'``, ``*``, or addresses of sites.
    tabs
        How many tabs one address may have open.
    """
    count = len(servers)
    headers = {**HEADERS, **({"Strict-Transport-Security": "max-age=31536000"} if certificate else {})}
    values = {
        "host": host,
        "listen": (TLS if certificate else PLAIN).format(
            listen=listen or ("443" if certificate else "80"), folder=certificate
        ),
        "headers": "\n".join(
            f'        add_header {name} "{text.format(embed=embed)}" always;' for name, text in headers.items()
        ),
        "tabs": tabs,
        "burst": 40 * tabs,  # a page that a browser has not seen takes some forty requests
    }
    head = HEAD.format(requests=tabs) + (TO_TLS.format(host=host) if certificate else "")
    if count == 1:
        return head + SERVER.format(**values, upstream=servers[0], page_cookie="", socket_cookie="")
    numbers = range(1, count + 1)
    share = 100 / count
    rows = {
        "any_process": [f"    {f'{share:.2f}%' if n < count else '*'} {n};" for n in numbers],
        "cookies": [f"    {n} {n};" for n in numbers],
        "served": [f"    ~{re.escape(server)}$ {n};" for n, server in zip(numbers, servers, strict=True)],
    }
    upstreams = "".join(_upstream(n, servers) for n in numbers)
    choice = CHOICE.format(**{name: "\n".join(lines) for name, lines in rows.items()})
    if certificate:
        choice = choice.replace("HttpOnly;", "HttpOnly; Secure;")
    server = SERVER.format(
        **values,
        upstream="lab_$lab_of_cookie",
        page_cookie="\n        add_header Set-Cookie $lab_set_page;",
        socket_cookie="\n        add_header Set-Cookie $lab_set_socket always;  # always: a socket's answer is no page",
    )
    return head + upstreams + choice + server


def _upstream(number: int, servers: list[str]) -> str:
    """Process ``number``; the others where it is gone."""
    lines = [
        f"    server {server} {'max_fails=1 fail_timeout=5s' if n == number else 'backup'};"
        for n, server in enumerate(servers, 1)
    ]
    return f"\nupstream lab_{number} {{\n" + "\n".join(lines) + "\n}\n"


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("host", help="the name under which visitors find the lab")
    parser.add_argument("--processes", type=int, default=2, choices=range(1, 17), metavar="N", help="app servers (2)")
    parser.add_argument(
        "--app",
        default="127.0.0.1:{port}",
        help="where they are; {n} is the number of each, {port} is 8500 and that number (%(default)s)",
    )
    parser.add_argument("--certificate", default="", metavar="FOLDER", help="fullchain.pem and privkey.pem: use TLS")
    parser.add_argument("--listen", default="", help="where nginx listens (443 with a certificate, else 80)")
    parser.add_argument(
        "--embed",
        default="'self'",
        metavar="SITES",
        help="sites that may show the lab in a frame, such as https://moodle.example.org; * for all (only its own)",
    )
    parser.add_argument("--tabs", type=int, default=400, help="tabs that one address may have open (%(default)s)")
    asked = parser.parse_args()
    servers = [asked.app.format(n=n, port=8500 + n) for n in range(1, asked.processes + 1)]
    if set(asked.embed + asked.host + asked.certificate) & set('";{}$\\\n'):
        parser.error('the signs ";{}$\\ are no part of a name')
    print(
        configuration(
            asked.host, servers, asked.listen, certificate=asked.certificate, embed=asked.embed, tabs=asked.tabs
        ),
        end="",
    )


if __name__ == "__main__":
    main()
