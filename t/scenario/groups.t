#!/usr/bin/perl
# Control groups handed over by systemd: programs that want too much, in runs of
# the system's service and of one user's, are ended by the kernel, alone, and
# nothing is left of their groups, also across a reload and kill -9. The machine
# here may have given its controllers to version 1, so that this boots another
# kernel, as an ordinary program (user-mode-linux), on this machine's files; what
# is tried in it is in t/scenario/groups_inside.pl, which prints what is
# compared here.
use strict;
use warnings;
use BrowserTask::Harness ();
use BrowserTask::Size ();
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my ($src, $build) = ($ENV{srcdir}, $ENV{builddir});
my $SECONDS = 900;
# Whose service, and what the runs of it do.
my %HOGS = (system => [qw(memory fork)]);
%HOGS = (system => [qw(memory shared fork flicker)], user => ['memory'])
    if BrowserTask::Size::full();

plan skip_all => 'needs root' if $> != 0;
my ($kernel) = grep { -x } map { "$_/linux.uml" } split /:/, $ENV{PATH};
plan skip_all => 'linux.uml is not installed (user-mode-linux)'
    if !defined $kernel;
plan skip_all => 'systemd is not installed' if !-x '/lib/systemd/systemd';
my $status = BrowserTask::Harness::slurp("$build/config.status") // '';
plan skip_all => 'a build with sanitizers has no filters, and takes too long'
    if $status =~ /-fsanitize=|--coverage/;
my ($prefix) = (BrowserTask::Harness::slurp("$build/Makefile") // '') =~
    /^prefix = (.*)$/m;
plan skip_all => 'the build is not for /usr/local'
    if ($prefix // '') ne '/usr/local';

my $dir = tempdir('bt-groups-XXXXXX', TMPDIR => 1);
my $child = 0;
my $owner = $$;
END {
	if (defined $owner && $$ == $owner) {
		my $status = $?;
		kill 'KILL', -$child if $child;
		remove_tree($dir);
		$? = $status;
	}
}
$SIG{$_} = sub { exit 1 } for qw(HUP INT PIPE TERM);

is(install(), 0, 'make install DESTDIR=');
make_files();
my $console = boot();
if (!-e "$dir/out/booted") {
	diag $console;
	SKIP: {
		skip 'user-mode-linux boots nothing here', 1;
	}
	done_testing();
	exit 0;
}
compare($_) for sort keys %HOGS;
done_testing();

sub compare {
	my ($kind) = @_;
	my $said = BrowserTask::Harness::slurp("$dir/out/results.$kind") // '';
	my $log = BrowserTask::Harness::slurp("$dir/out/errors.$kind") // '';
	my %got = $said =~ /^([\w ]+): (.*)$/mg;
	# Runs then end, as they should, for that reason.
	my $slow = $log =~ /not taken within \d+ s|, RUN_TIMEOUT$/m;

	for (wanted($kind)) {
		my ($name, $re, $text) = @$_;
		my $got = $got{$name} // '(nothing)';
	SKIP: {
			skip "the machine is too slow: $name: $got", 1
			    if $slow && $got !~ $re && $got =~ /failed/;
			like($got, $re, "$kind: $text");
		}
	}
	note $said;
	diag $log, $console if !Test::More->builder->is_passing;
}

sub wanted {
	my ($kind) = @_;
	my $memory = qr/^failed\ MEMORY_LIMIT\ 256\ MiB\ of\ memory;\ the
	    \ limit\ is\ 256,\ group\ gone,\ killed\ for\ memory\ 1,\ beside
	    \ it\ running$/x;
	my @all = (
		[ start => qr/^0 active$/, 'it starts' ],
		[ protection => qr/^on$/, 'it says that the kernel counts' ],
		[ 'handed on' => qr/^memory pids$/, 'memory and processes' ],
		[ cell => qr/^memory.max=268435456\ memory.oom.group=1
		    \ pids.max=128$/x, 'a cell has a group with the limits' ],
		[ reload => qr/^0\ same\ pid,\ same\ group,\ failed
		    \ MEMORY_LIMIT\ .*\ group\ gone,$/x,
		    'reload: a run goes on, its limit holds, its group goes' ],
		[ stop => qr/^0 inactive, group gone$/,
		    'stop: no group is left' ],
	);

	my %hogs = (
		memory => [ $memory, 'memory of processes' ],
		shared => [ $memory, 'memory of a file that nobody has mapped' ],
		fork => [ qr/^failed\ PROCESS_LIMIT\ 128\ processes\ and\ threads
		    ;\ the\ limit\ is\ 128,\ group\ gone,\ killed\ for\ memory
		    \ 0,\ beside\ it\ running$/x, 'processes' ],
		flicker => [ qr/^failed\ CPU_LIMIT\ .*,\ group\ gone,\ killed\ for
		    \ memory\ 0,\ beside\ it\ running$/x,
		    'processor time of processes that nobody waits for' ],
	);
	push @all, map { [ $_ => @{ $hogs{$_} } ] } @{ $HOGS{$kind} };
	return @all if $kind eq 'user';
	return (@all,
		[ taken => qr/^succeeded succeeded succeeded$/,
		    'groups of the next names, one with somebody in it' ],
		[ supervisord => qr/^same pid, running same group$/,
		    'kill -9 of supervisord: a run goes on in its group' ],
		[ launcher => qr/^another\ pid,\ succeeded\ in\ a\ group,
		    \ sleeper\ gone,\ groups\ 0$/x,
		    'kill -9 of the launcher: groups anew, none left' ]);
}

sub install {
	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
	return system("make -s -C '$build' install DESTDIR='$dir/inst' "
	    . ">'$dir/install.log' 2>&1") >> 8;
}

sub put {
	my ($name, $text) = @_;
	open(my $fh, '>', "$dir/$name") or die "$name: $!\n";
	print $fh $text;
	close $fh or die "$name: $!\n";
}

sub make_files {
	chmod 0755, $dir;
	make_path(map { "$dir/$_" } qw(base out t/BrowserTask));
	copy("$src/t/scenario/groups_inside.pl", "$dir/t/groups_inside.pl");
	copy("$src/t/lib/BrowserTask/Inside.pm", "$dir/t/BrowserTask/");
	for (qw(scenario/scripted launch/fake-headless-shell launch/hog)) {
		copy("$build/t/$_", "$dir/base/") or die "$_: $!\n";
	}
	chmod 0755, glob "$dir/base/*";
	# The first program: a root directory in memory, and systemd in it.
	put('init', <<"END");
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs -o mode=755 none /mnt && cd /mnt || exit 1
mkdir -p etc/systemd/system proc sys dev run tmp var/lib var/log home root \\
    usr srv old out t
for d in bin sbin lib lib64; do ln -s usr/\$d \$d; done
for f in passwd group nsswitch.conf ld.so.cache; do cp /etc/\$f etc/; done
for d in alternatives fonts pam.d security ssl; do cp -a /etc/\$d etc/; done
sed -i /^browsertask/d etc/group
: >etc/machine-id
echo ID=debian >etc/os-release
cp -R $dir/base srv/base
cp -R $dir/t/. t
cp $dir/inside.service etc/systemd/system/
mount --bind /usr usr
mount --bind $dir/inst/usr/local usr/local
mount -t hostfs -o $dir/out none out
mount -t devtmpfs none dev
pivot_root . old
cd /
mount -t proc none proc
umount -l /old
exec /lib/systemd/systemd
END
	chmod 0755, "$dir/init";
	my $each = join '', map { "ExecStart=-/bin/sh -c 'perl -I/t "
	    . "/t/groups_inside.pl /srv/base $_ @{$HOGS{$_}} "
	    . ">/out/results.$_ 2>/out/errors.$_'\n" } sort keys %HOGS;
	put('inside.service', <<"END");
[Unit]
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c ': >/out/booted'
${each}ExecStopPost=/bin/systemctl --no-block --force poweroff
TimeoutStartSec=infinity
END
}

# The kernel and what runs in it are processes of one group.
sub boot {
	my @memory = grep { -d && -w } '/dev/shm', $dir;

	$child = fork() // die "fork: $!\n";
	if ($child == 0) {
		POSIX::setpgid(0, 0);
		$ENV{TMPDIR} = $memory[0];
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', "$dir/console");
		open(STDERR, '>&', \*STDOUT);
		exec($kernel, 'mem=1200M', 'rootfstype=hostfs', 'rootflags=/',
		    'ro', 'con=null', 'con0=null,fd:1', "init=$dir/init",
		    'systemd.unit=inside.service', 'systemd.show_status=0')
		    or POSIX::_exit(127);
	}
	$SIG{ALRM} = sub { kill 'KILL', -$child };
	alarm $SECONDS;
	waitpid $child, 0;
	alarm 0;
	kill 'KILL', -$child;
	$child = 0;
	return BrowserTask::Harness::slurp("$dir/console") // '';
}
