#!/usr/bin/perl
# A system of its own, booted by systemd in a container, with the service
# installed in it: start, a batch, reload, restart, a killed launcher, a hung
# supervisor, a clean stop, and a start by socket. The container has the
# machine's /usr and nothing else of it; what is tried inside is in
# t/scenario/systemd_inside.pl, which prints what is compared here. Then the
# same for the service of one user, under their own manager:
# t/scenario/systemd_user.pl.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my ($src, $build) = ($ENV{srcdir}, $ENV{builddir});
my $SECONDS = 300;

plan skip_all => 'needs root' if $> != 0;
plan skip_all => 'systemd-nspawn is not installed (systemd-container)'
    if system('command -v systemd-nspawn >/dev/null') != 0;
plan skip_all => 'systemd is not installed' if !-x '/lib/systemd/systemd';
plan skip_all => 'a build with sanitizers has no filters, and takes too long'
    if sanitized();
my ($prefix) = (slurp("$build/Makefile") // '') =~ /^prefix = (.*)$/m;
plan skip_all => 'the build is for a prefix that systemd does not look below'
    if ($prefix // '') !~ m{^/usr(?:/local)?$};

my $dir = tempdir('bt-systemd-XXXXXX', TMPDIR => 1);
my $root = "$dir/root";
my $child = 0;
my $owner = $$;
END {
	if ($$ == $owner && defined $dir) {
		my $status = $?;
		kill 'KILL', $child if $child;
		remove_tree($dir);
		$? = $status;
	}
}
$SIG{$_} = sub { exit 1 } for qw(HUP INT PIPE TERM);

is(install(), 0, 'make install DESTDIR=');
for my $file (qw(system/browsertaskd.service system/browsertaskd-admin.socket
    system/browsertaskd-client.socket user/browsertaskd.service)) {
	my @found = grep { -e } glob "$dir/inst/usr/{,local/}lib/systemd/$file";
	is(scalar @found, 1, "$file is installed");
}
make_root();
my ($status, $console) = boot();
if (!-e "$root/results.system") {
	# Not every machine lets a container be made: one in a container may not.
	diag $console;
	plan_skip('systemd-nspawn boots nothing here');
}
is($status, 0, 'the container was started and powered off');
my @system = (
	[ sysusers => qr/^browsertask:.*browsertask-admin:/,
	    'the groups are made' ],
	[ start => qr/^0 active running$/, 'start returns when it is ready' ],
	[ batch => qr/^0 succeeded 3 items$/, 'a batch of local pages' ],
	[ credential => qr/^0 not told, the site got user=ada&password=canary-5071$/,
	    'a secret that systemd hands over is filled in' ],
	[ doctor => qr/^0 off:$/, 'doctor finds no protection missing' ],
	[ reload => qr/^0 active, took 7, same pid, another supervisor$/,
	    'reload takes a setting, under the same pid' ],
	[ badreload => qr/^[1-9]\d* active, has 7$/,
	    'a file with a mistake is refused by reload' ],
	[ restart => qr/^0 active, runs kept: 1$/,
	    'restart: another process, the same runs' ],
	[ killed => qr/^active, restarts 1, left 0$/,
	    'kill -9: started anew, nothing left of before' ],
	[ hung => qr/^active, restarts 1, same pid, then 0$/,
	    'a supervisor that hangs: the launcher starts another' ],
	[ stuck => qr/^active, restarts 2, watchdog$/,
	    'a launcher that hangs: the watchdog ends and starts it' ],
	[ stop => qr/^0 inactive, processes 0, sockets 0, groups 0$/,
	    'stop: nothing is left' ],
	[ socket => qr/^inactive, then 0 active$/,
	    'a client starts it by its socket' ],
	[ socketstop => qr/^0 inactive, processes 0, sockets 2$/,
	    'stop leaves the sockets to systemd' ],
	[ nobody => qr/^refused$/, 'users outside the group are kept out' ],
);
my @user = (
	[ manager => qr/^(?:lingers|runs)$/, 'a user has a manager' ],
	[ enable => qr/^0 active client\.sock admin\.sock$/,
	    'enable --now: it serves where clients look' ],
	[ batch => qr/^succeeded 3$/, 'a batch of local pages' ],
	[ state => qr/^at home$/, 'its state is in their home' ],
	[ doctor => qr/^0 off:$/, 'doctor finds no protection missing' ],
	[ reload => qr/^0 same pid, took 7, succeeded attempt 1$/,
	    'reload: new settings, a run goes on' ],
	[ supervisord => qr/^same pid, succeeded attempt 1$/,
	    'kill -9 of supervisord: a run goes on' ],
	[ worker => qr/^failed EXECUTION_ERROR same pid$/,
	    'kill -9 of a worker: its run fails, with nothing else' ],
	[ launcher => qr/^another pid, left 0, succeeded attempt 2$/,
	    'kill -9 of the launcher: all new, the run is done once more' ],
	[ restart => qr/^0 active, runs kept [1-9]\d*$/,
	    'restart: another process, the same runs' ],
	[ adapter => qr/^uses it$/, 'an adapter starts none beside it' ],
	[ stop => qr/^0 inactive, processes 0 sockets 0 group gone$/,
	    'stop: nothing is left' ],
	[ beside => qr/^it starts one, the unit does not, failed, it serves$/,
	    'an adapter starts one; the unit leaves it alone' ],
	[ login => qr/^0 active$/, 'the next login, or boot, starts it' ],
	[ logout => qr/^0 processes 0$/, 'all ends with the manager' ],
);
compare('system', @system);
compare('user', @user);
diag $console if !Test::More->builder->is_passing;
done_testing();

# What a script said, each line under its name, is what is wanted.
sub compare {
	my ($part, @rows) = @_;
	my $said = slurp("$root/results.$part");
	my %got;

	push @{ $got{$1} }, $2 while ($said // '') =~ /^(\w+): (.*)$/mg;
	for (@rows) {
		my ($name, $re, $text) = @$_;
		like(join("\n", @{ $got{$name} // ['(nothing)'] }), $re,
			"$part: $text");
	}
	note $said // '';
}

sub sanitized {
	my $defs = slurp("$build/config.status") // '';
	return $defs =~ /-fsanitize=|--coverage/;
}

sub plan_skip {
	my ($why) = @_;
SKIP: {
		skip $why, 1;
	}
	done_testing();
	exit 0;
}

sub slurp {
	my ($path) = @_;
	open(my $in, '<', $path) or return undef;
	local $/;
	return scalar <$in>;
}

sub install {
	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
	return system("make -s -C '$build' install DESTDIR='$dir/inst' "
	    . ">'$dir/install.log' 2>&1") >> 8;
}

sub make_root {
	make_path(map { "$root/$_" } qw(etc/systemd/system proc sys dev run tmp
	    var/lib var/log root home usr srv));
	symlink "usr/$_", "$root/$_" for qw(bin sbin lib lib64);
	for my $file (qw(passwd group nsswitch.conf ld.so.cache ld.so.conf)) {
		copy("/etc/$file", "$root/etc/$file") if -e "/etc/$file";
	}
	# So that /etc/ssl and the others keep their links.
	for my $sub (qw(alternatives fonts pam.d security ssl)) {
		system('cp', '-a', "/etc/$sub", "$root/etc/") if -d "/etc/$sub";
	}
	system("sed -i '/^browsertask/d' '$root/etc/group'");
	put('etc/machine-id', '');
	put('etc/os-release', "ID=debian\n");
	make_path("$root/t/BrowserTask");
	copy("$src/t/$_", "$root/t/" . s{.*/(?=BrowserTask)|.*/}{}r)
	    or die "$_: $!\n" for qw(scenario/systemd_inside.pl
	    scenario/systemd_user.pl lib/BrowserTask/Inside.pm);
	# What is not below /usr where it was installed.
	for my $top (qw(etc var)) {
		system('cp', '-a', "$dir/inst/$top", "$root/")
		    if -d "$dir/inst/$top";
	}
	put('etc/systemd/system/inside.service', <<'END');
[Unit]
After=basic.target
[Service]
Type=oneshot
ExecStart=-/bin/sh -c 'perl -I/t /t/systemd_inside.pl >/results.system'
ExecStart=-/bin/sh -c 'perl -I/t /t/systemd_user.pl >/results.user'
ExecStopPost=/bin/systemctl --no-block --force poweroff
StandardOutput=null
StandardError=append:/errors
TimeoutStartSec=280
END
}

sub put {
	my ($name, $text) = @_;
	open(my $fh, '>', "$root/$name") or die "$name: $!\n";
	print $fh $text;
	close $fh or die "$name: $!\n";
}

sub boot {
	my $end = time + $SECONDS;

	$child = fork() // die "fork: $!\n";
	if ($child == 0) {
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', "$dir/console");
		open(STDERR, '>&', \*STDOUT);
		# One tree of control groups, as on a machine of today.
		$ENV{SYSTEMD_NSPAWN_UNIFIED_HIERARCHY} = 1;
		exec('systemd-nspawn', '-q', '-D', $root, '--boot',
		    '--register=no', '--keep-unit', '--private-network',
		    '--console=pipe', '--machine=browsertask-test',
		    "--overlay-ro=/usr:$dir/inst/usr:/usr",
		    '--system-call-filter=landlock_create_ruleset '
		    . 'landlock_add_rule landlock_restrict_self',
		    '--', 'systemd.unit=inside.service')
		    or POSIX::_exit(127);
	}
	$SIG{ALRM} = sub { kill 'KILL', $child };
	alarm $SECONDS;
	waitpid $child, 0;
	alarm 0;
	$child = 0;
	return ($?, (slurp("$dir/console") // '')
	    . (slurp("$root/errors") // ''));
}
